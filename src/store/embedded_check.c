/* `vestal check`: verifies every file, row and reference, and finds missing ones. */
#include <stdio.h>

#include "base/file.h"
#include "store/tenant_walk.h"

struct checker {
	const char *folder;
	uint64_t seed;
	void (*each)(void *context, const char *problem);
	void *context;
	struct store_checked result;
	struct fault *fault;
	enum err error;
};

static void tell(void *context, const char *text, const struct walk_loss *loss)
{
	struct checker *k = context;

	(void)loss;
	k->each(k->context, text);
}

static enum err check_tenant(struct checker *k, struct str name)
{
	char text[TENANT_NAME_MAX + 1], *folder = NULL;
	struct tenant_walk t = {.name = text, .seed = k->seed, .bad = tell, .context = k};
	uint64_t problems;
	enum err error;

	snprintf(text, sizeof(text), "%.*s", (int)name.n, name.p);
	TRY(tenant_folder(k->folder, name, false, &folder, k->fault));
	t.folder = folder;
	error = tenant_walk_begin(&t);
	for (size_t i = 0; error == ERR_OK && i < t.files.n; i++)
		error = tenant_walk_file(&t, &t.files.v[i], &problems);
	k->result.pieces += t.checked;
	k->result.unsealed += t.unsealed;
	if (error != ERR_OK && k->fault)
		*k->fault = t.fault;
	tenant_walk_end(&t);
	mem_free(folder);
	return error;
}

static void each_tenant(void *context, struct str name)
{
	struct checker *k = context;

	if (k->error == ERR_OK)
		k->error = check_tenant(k, name);
}

enum err store_embedded_check(const char *directory,
			      void (*each)(void *context, const char *problem), void *context,
			      struct store_checked *ret, struct fault *fault)
{
	struct store_dir dir = STORE_DIR_CLOSED;
	struct checker k = {.each = each, .context = context, .folder = directory, .fault = fault};
	enum err error = store_dir_open(&dir, directory, false, fault);

	if (error != ERR_OK)
		return error;
	k.seed = dir.seed;
	error = store_dir_tenants(directory, each_tenant, &k, fault);
	if (error == ERR_OK)
		error = k.error;
	store_dir_close(&dir);
	if (error == ERR_OK)
		*ret = k.result;
	return error;
}
