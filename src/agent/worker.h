/* What a worker does: worker_host.h says who it is, worker_wire.h what is said. */
#pragma once

/* Answers until the other end is closed, or until a question is not understood. */
void worker_serve(int socket);
