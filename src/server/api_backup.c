/*
 * /api/v1/backup: a copy of everything, fetched by the client file by file, or written below the
 * server's --backup-dir.
 */
#include <unistd.h>

#include "base/log.h"
#include "server/access.h"
#include "server/api.h"
#include "server/backups.h"

static enum err only_operators(const struct request *r, struct fault *fault)
{
	if (access_is_operator(r))
		return ERR_OK;
	return fault_set(
		fault, ERR_NO_PERMISSION,
		"a backup contains the data of all tenants: it requires the right \"admin\" of "
		"the tenant " DEFAULT_TENANT);
}

/* Without tokens every program on this machine is let in. Only the server's own user, and root,
 * make it write where it would not by itself. */
static enum err only_own_user(const struct request *r, struct fault *fault)
{
	uint32_t uid = r->x->peer_uid;

	if (r->token_id.n || (uid != HTTP_NO_UID && (!uid || uid == geteuid())))
		return ERR_OK;
	return fault_set(fault, ERR_NO_PERMISSION,
			 "without tokens the server writes no backups: create a token "
			 "(vestal token create --admin), use a unix socket as the server's user "
			 "or root, or fetch the backup with vestal backup DIR");
}

static enum err write_backup(struct inquiry *q, struct str name, uint64_t *ret_bytes)
{
	struct request *r = q->request;

	TRY(only_own_user(r, q->fault));
	TRY(request_audit(r, "backup", &(struct audit_pair){"name", name}, 1, q->fault));
	TRY(backups_write(r->server->backups, r->server->store, r->server->symbols, name, r->damage,
			  ret_bytes, q->fault));
	log_info("backed up", log_str("name", name), log_u64("bytes", *ret_bytes),
		 log_str("peer", r->x->peer));
	return ERR_OK;
}

static void put_file(void *context, const struct backup_file *file)
{
	struct jsonout *o = context;

	jsonout_object(o);
	jsonout_put_text(o, "path", file->path);
	jsonout_put_u64(o, "bytes", file->bytes);
	jsonout_end_object(o);
}

static enum err begin_sending(struct inquiry *q, struct jsonout *o)
{
	struct request *r = q->request;
	char id[BACKUP_ID_SIZE];

	TRY(request_audit(r, "backup", NULL, 0, q->fault));
	TRY(backups_begin(r->server->backups, r->server->store, r->server->symbols, r->damage, id,
			  q->fault));
	log_info("a backup is fetched", log_str("peer", r->x->peer));
	jsonout_put_text(o, "id", id);
	jsonout_put_array(o, "files");
	TRY(backups_files(r->server->backups, str_of(id), put_file, o, q->fault));
	jsonout_end_array(o);
	return ERR_OK;
}

static enum err answer_backup(struct inquiry *q, struct jsonout *o)
{
	struct str name = parameter(q->request, "name");
	uint64_t bytes;

	TRY(only_operators(q->request, q->fault));
	if (parameter(q->request, "destination").n)
		return fault_set(
			q->fault, ERR_BAD_ARGUMENT,
			"destination is not taken any more: the server writes below its "
			"--backup-dir, with name=…, or sends the backup: vestal backup DIR");
	jsonout_object(o);
	jsonout_put_text(o, "schema", "vestal.backup/2");
	if (name.n) {
		TRY(write_backup(q, name, &bytes));
		jsonout_put_str(o, "name", name);
		jsonout_put_u64(o, "bytes", bytes);
	} else {
		TRY(begin_sending(q, o));
	}
	jsonout_end_object(o);
	return ERR_OK;
}

void api_backup(struct request *r)
{
	api_answer(r, answer_backup);
}

static enum err read_number(struct request *r, const char *name, uint64_t *ret, struct fault *fault)
{
	struct str text = parameter(r, name);

	*ret = 0;
	if (text.n && str_to_u64(text, 10, ret) != ERR_OK)
		return fault_set(fault, ERR_BAD_ARGUMENT, "%s is a number", name);
	return ERR_OK;
}

static enum err read_part(struct request *r, struct buf *ret, struct fault *fault)
{
	uint64_t file, offset;

	TRY(only_operators(r, fault));
	TRY(read_number(r, "file", &file, fault));
	TRY(read_number(r, "offset", &offset, fault));
	return backups_read(r->server->backups, parameter(r, "id"), file, offset, ret, fault);
}

void api_backup_file(struct request *r)
{
	struct buf out = BUF_INIT(BACKUP_PART_MAX);
	struct fault fault = {0};
	enum err e = read_part(r, &out, &fault);

	if (e) {
		buf_release(&out);
		request_fail(r, e, &fault);
		return;
	}
	request_reply(r, 200, "application/octet-stream", &out);
}

static enum err answer_end(struct inquiry *q, struct jsonout *o)
{
	struct request *r = q->request;

	TRY(only_operators(r, q->fault));
	TRY(backups_end(r->server->backups, parameter(r, "id"), q->fault));
	jsonout_object(o);
	jsonout_put_text(o, "schema", "vestal.backup_end/1");
	jsonout_end_object(o);
	return ERR_OK;
}

void api_backup_end(struct request *r)
{
	api_answer(r, answer_end);
}
