/*
 * /api/v1/symbols: programs and debug files that name what was stored as addresses.
 */
#include "base/clock.h"
#include "base/log.h"
#include "server/api.h"
#include "server/symbol_sources.h"
#include "server/symbol_parts.h"

static void put_item(struct jsonout *o, const struct symbol_item *item)
{
	jsonout_put_text(o, "build_id", item->build_id);
	jsonout_put_text(o, "kind", item->debug ? "debug" : "program");
	jsonout_put_u64(o, "size", item->size);
	jsonout_put_i64(o, "kept_ns", item->kept_s * NS_PER_S);
}

/* ------------------------------------------------------------------ uploads */

/* Without parameters the body is the whole file. */
static enum err read_part(struct request *r, struct symbol_part *part, struct fault *fault)
{
	int64_t offset, size;

	part->id = parameter(r, "upload");
	TRY(parameter_int(r, "offset", 0, &offset, fault));
	TRY(parameter_int(r, "size", part->id.n ? 0 : (int64_t)part->bytes.n, &size, fault));
	if (offset < 0 || size < 0)
		return fault_set(fault, ERR_BAD_ARGUMENT, "offset and size count bytes");
	if (!part->id.n && (offset || (uint64_t)size != part->bytes.n))
		return fault_set(
			fault, ERR_BAD_ARGUMENT,
			"a file in parts has a name: upload=, and each part its offset= and "
			"the size= of all");
	part->offset = (uint64_t)offset;
	part->size = (uint64_t)size;
	return ERR_OK;
}

/* A name for those who send all at once. */
static struct str own_name(struct request *r)
{
	static _Atomic uint64_t number;
	char *text = arena_printf(&r->x->arena, "whole%llu",
				  (unsigned long long)atomic_fetch_add(&number, 1));

	return str_of(text ? text : "whole");
}

static enum err answer_upload(struct inquiry *q, struct jsonout *o)
{
	struct request *r = q->request;
	CLEANUP(buf_release) struct buf plain = {0};
	struct symbol_part part = {.tenant = r->tenant};
	struct symbol_store *store;
	struct symbol_item item;
	bool done;

	TRY(request_body(r, &plain, &part.bytes, q->fault));
	TRY(read_part(r, &part, q->fault));
	if (!part.id.n)
		part.id = own_name(r);
	TRY(symbol_sources_store(r->server->symbols, r->tenant, true, &store, q->fault));
	TRY(symbol_parts_add(r->server->parts, store, &part, &done, &item, q->fault));
	jsonout_object(o);
	jsonout_put_text(o, "schema", "vestal.symbol-upload/1");
	jsonout_put_u64(o, "received", part.offset + part.bytes.n);
	jsonout_put_bool(o, "done", done);
	if (done) {
		put_item(o, &item);
		log_info("symbols kept", log_str("tenant", r->tenant),
			 log_str("build_id", str_of(item.build_id)), log_str("peer", r->x->peer),
			 log_u64("bytes", item.size));
	}
	jsonout_end_object(o);
	return ERR_OK;
}

void api_symbols_upload(struct request *r)
{
	api_answer(r, answer_upload);
}

/* ------------------------------------------------------------------ list and delete */

static enum err list_item(void *context, const struct symbol_item *item)
{
	struct jsonout *o = context;

	jsonout_object(o);
	put_item(o, item);
	jsonout_end_object(o);
	return ERR_OK;
}

static enum err answer_list(struct inquiry *q, struct jsonout *o)
{
	struct request *r = q->request;
	struct symbol_store *store = NULL;
	enum err error =
		symbol_sources_store(r->server->symbols, r->tenant, false, &store, q->fault);

	if (error && error != ERR_NOT_FOUND)
		return error;
	jsonout_object(o);
	jsonout_put_text(o, "schema", "vestal.symbols/1");
	jsonout_put_u64(o, "bytes", store ? symbol_store_bytes(store) : 0);
	jsonout_put_u64(o, "max_bytes", r->server->options.symbols_max_size);
	jsonout_put_array(o, "files");
	if (store)
		TRY(symbol_store_list(store, list_item, o));
	jsonout_end_array(o);
	jsonout_end_object(o);
	return ERR_OK;
}

void api_symbols_list(struct request *r)
{
	api_answer(r, answer_list);
}

static enum err answer_delete(struct inquiry *q, struct jsonout *o)
{
	struct request *r = q->request;
	struct str build_id = parameter(r, "build_id");
	struct symbol_store *store;
	enum err error;

	if (!build_id_valid(build_id))
		return fault_set(q->fault, ERR_BAD_ARGUMENT,
				 "build_id is the build id of a file that was sent, in lower case "
				 "hexadecimal");
	TRY(request_audit(r, "delete symbols", &(struct audit_pair){"build_id", build_id}, 1,
			  q->fault));
	error = symbol_sources_store(r->server->symbols, r->tenant, false, &store, q->fault);
	if (!error)
		error = symbol_store_remove(store, build_id);
	if (error == ERR_NOT_FOUND)
		return fault_set(q->fault, error, "there is no symbol file with this build id");
	TRY(error);
	jsonout_object(o);
	jsonout_put_text(o, "schema", "vestal.symbols-deleted/1");
	jsonout_put_str(o, "build_id", build_id);
	jsonout_end_object(o);
	return ERR_OK;
}

void api_symbols_delete(struct request *r)
{
	api_answer(r, answer_delete);
}
