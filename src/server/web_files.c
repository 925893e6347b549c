#include "server/web_files.h"

#include <stdio.h>

#include "format/format.h"
#include "server/encoding.h"

/* The UI connects only to this server, and runs only scripts of its own files. */
#define UI_POLICY                                                                               \
	"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; " \
	"connect-src 'self'; worker-src 'self'; font-src 'self'; base-uri 'none'; form-action " \
	"'none'; frame-ancestors 'none'"
#define MAX_PLAIN ((size_t)16 << 20)

const struct web_asset *web_asset_find(struct str path)
{
	for (size_t i = 0; i < web_asset_count; i++)
		if (str_eq(path, str_of(web_assets[i].path)))
			return &web_assets[i];
	return NULL;
}

/* For the few clients that do not read gzip. */
static enum err unpack(const struct web_asset *asset, struct buf *out)
{
	struct limits limits = LIMITS_DEFAULT;
	const char *found;

	limits.max_bytes = MAX_PLAIN;
	buf_init(out, MAX_PLAIN);
	return decompress(str_n((const char *)asset->data, asset->data_size), &limits, out, &found,
			  NULL);
}

void web_asset_reply(struct request *r, int status, const struct web_asset *asset, bool immutable)
{
	bool gzip = asset->packed &&
		    encoding_accepted(http_find(r->x, STR("accept-encoding")), STR("gzip"));
	struct http_header headers[HTTP_ASSET_HEADERS];
	struct http_response response = {.status = status, .headers = headers};
	char tag[64];
	size_t n = 0;

	/* The two encodings are different bytes, so their tags differ. */
	snprintf(tag, sizeof(tag), "\"%s%s\"", asset->tag, gzip ? "-gzip" : "");
	headers[n++] = (struct http_header){STR("content-type"), str_of(asset->type)};
	headers[n++] = (struct http_header){STR("x-content-type-options"), STR("nosniff")};
	headers[n++] = (struct http_header){STR("content-security-policy"), STR(UI_POLICY)};
	headers[n++] = (struct http_header){STR("referrer-policy"), STR("no-referrer")};
	headers[n++] =
		(struct http_header){STR("cross-origin-resource-policy"), STR("same-origin")};
	headers[n++] = (struct http_header){STR("cache-control"),
					    immutable ? STR("public, max-age=31536000, immutable")
						      : STR("no-cache")};
	headers[n++] = (struct http_header){STR("vary"), STR("accept-encoding")};
	if (gzip)
		headers[n++] = (struct http_header){STR("content-encoding"), STR("gzip")};
	response.header_count = n;
	if (gzip || !asset->packed) {
		response.static_body = str_n((const char *)asset->data, asset->data_size);
	} else {
		enum err error = unpack(asset, &response.body);

		if (error != ERR_OK) {
			buf_release(&response.body);
			request_fail(r, error, NULL);
			return;
		}
	}
	http_reply_asset(r->x, &response, str_of(tag));
}
