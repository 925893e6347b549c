/* A program with libvestal inside that listens at ADDRESS until standard input ends. */
#include <stdio.h>
#include <unistd.h>
#include <vestal.h>

int main(int argc, char **argv)
{
	struct vestal_options o = VESTAL_OPTIONS_DEFAULT;
	struct vestal *v;
	char byte;

	o.listen = argc > 1 ? argv[1] : NULL;
	if (vestal_start(&o, &v)) {
		fprintf(stderr, "%s\n", vestal_last_error());
		return 1;
	}
	while (read(0, &byte, 1) > 0)
		;
	vestal_stop(v);
	return 0;
}
