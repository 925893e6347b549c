/*
 * Instead of compress.c and otlp_any_json.c where every kilobyte counts (src/sdk): gzip is all
 * there is, and labels that hold JSON are text.
 */
#include "format/formats_internal.h"
#include "format/otlp_tables.h"

enum err compress_zstd(struct str plain, int level, struct buf *out)
{
	(void)plain;
	(void)level;
	(void)out;
	return ERR_UNSUPPORTED;
}

enum err otlp_any_of_json(struct str json, struct arena *arena, struct otlp_any *ret)
{
	(void)arena;
	*ret = (struct otlp_any){.type = ANY_STRING, .text = json};
	return ERR_OK;
}
