/*
 * The web UI as files inside the program: tools/embed_tree.py makes the table of web/dist/ui. It is
 * empty if the program was built without npm.
 */
#pragma once

#include "server/request.h"

struct web_asset {
	const char *path; /* "/index.html", "/assets/app-1a2b3c.js" */
	const char *type;
	const char *tag; /* digest of the plain bytes */
	const unsigned char *data;
	size_t data_size, plain_size;
	bool packed; /* `data` is gzip */
};
extern const struct web_asset web_assets[];
extern const size_t web_asset_count;

/* NULL if there is no file with that path. */
const struct web_asset *web_asset_find(struct str path);
/* Whether its name contains a digest, so that it may be cached forever. */
void web_asset_reply(struct request *r, int status, const struct web_asset *asset, bool immutable);
