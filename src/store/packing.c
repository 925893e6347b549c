#include "store/packing.h"

#include <stdatomic.h>
#include <zstd.h>

/* One of each waits for the next caller: making one costs more than packing a few kilobytes. */
static _Atomic(ZSTD_CCtx *) spare_packer;
static _Atomic(ZSTD_DCtx *) spare_unpacker;

enum err pack(struct str plain, int level, struct buf *out)
{
	size_t room = ZSTD_compressBound(plain.n), n;
	void *to = buf_reserve(out, room);
	ZSTD_CCtx *context;

	if (!to)
		return buf_error(out);
	context = atomic_exchange(&spare_packer, NULL);
	if (!context)
		context = ZSTD_createCCtx();
	if (!context)
		return ERR_NO_MEMORY;
	n = ZSTD_compressCCtx(context, to, room, plain.p, plain.n, level);
	ZSTD_freeCCtx(atomic_exchange(&spare_packer, context));
	if (ZSTD_isError(n))
		return ERR_NO_MEMORY;
	out->n += n;
	return ERR_OK;
}

enum err unpack(struct str packed, char *ret, size_t plain)
{
	ZSTD_DCtx *context = atomic_exchange(&spare_unpacker, NULL);
	size_t n;

	if (!context)
		context = ZSTD_createDCtx();
	if (!context)
		return ERR_NO_MEMORY;
	n = ZSTD_decompressDCtx(context, ret, plain, packed.p, packed.n);
	ZSTD_freeDCtx(atomic_exchange(&spare_unpacker, context));
	return ZSTD_isError(n) || n != plain ? ERR_CORRUPT : ERR_OK;
}
