/*
 * /api/v1/tokens: lists tokens, without their secrets, which are not stored. Tokens are created and
 * revoked on the server's host (vestal token).
 */
#include "server/access.h"
#include "server/api.h"

void api_put_rights(struct jsonout *o, unsigned rights)
{
	jsonout_put_array(o, "rights");
	if (rights & TOKEN_READ)
		jsonout_text(o, "read");
	if (rights & TOKEN_WRITE)
		jsonout_text(o, "write");
	if (rights & TOKEN_ADMIN)
		jsonout_text(o, "admin");
	if (rights & TOKEN_OPERATOR)
		jsonout_text(o, "operator");
	jsonout_end_array(o);
}

struct token_view {
	const struct request *request;
	struct jsonout *out;
};

/* Tokens of other tenants are none of a tenant's business. */
static void put_token(void *context, const struct token_info *t)
{
	struct token_view *v = context;

	if (!access_is_operator(v->request) && !str_eq(str_of(t->tenant), v->request->tenant))
		return;
	jsonout_object(v->out);
	jsonout_put_text(v->out, "id", t->id);
	jsonout_put_text(v->out, "tenant", t->tenant);
	jsonout_put_text(v->out, "name", t->name);
	jsonout_put_i64(v->out, "created_s", t->created);
	api_put_rights(v->out, t->rights);
	jsonout_end_object(v->out);
}

static enum err answer_tokens(struct inquiry *q, struct jsonout *o)
{
	struct request *r = q->request;
	struct tokens *tokens = r->server->tokens;
	bool needed = tokens_required(tokens);
	struct token_view view = {r, o};

	jsonout_object(o);
	jsonout_put_text(o, "schema", "vestal.tokens/1");
	jsonout_put_bool(o, "needed", needed);
	jsonout_put_str(o, "own", r->token_id);
	jsonout_put_array(o, "tokens");
	if (needed)
		TRY(token_list(tokens_path(tokens), put_token, &view, q->fault));
	jsonout_end_array(o);
	jsonout_end_object(o);
	return ERR_OK;
}

void api_tokens(struct request *r)
{
	api_answer(r, answer_tokens);
}
