#include "server/server.h"

#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory_limit.h"
#include "server/agents.h"
#include "server/descriptors.h"
#include "server/memory_watch.h"
#include "server/rates.h"
#include "server/routes.h"
#include "server/scraper.h"
#include "server/self_profile.h"
#include "server/store_events.h"
#include "server/symbol_sources.h"
#include "server/symbol_parts.h"

#define STOP_PATIENCE_NS  (10 * NS_PER_S)
#define KEPT_MEMORY	  ((size_t)8 << 20) /* approximate memory of a query */
#define MEMORY_LEAST	  ((size_t)64 << 20)
#define DICTIONARIES_MOST ((size_t)512 << 20)

const struct server_options server_options_default = {
	.max_in_flight = (size_t)128 << 20,
	.max_inflated = (size_t)64 << 20,
	.query_memory = (size_t)256 << 20,
	.query_timeout_ns = 30 * NS_PER_S,
	.symbols_max_file = (uint64_t)2 << 30,
	.symbols_max_size = (uint64_t)8 << 30,
	.debuginfod_max_file = (uint64_t)1 << 30,
	.debuginfod_max_size = (uint64_t)4 << 30,
	.debuginfod_timeout = 90,
};

static void release(struct server *s)
{
	/* Running queries and commits still reply, so their exchanges must exist. */
	memory_watch_free(s->memory_watch);
	workers_free(s->workers);
	scraper_free(s->scraper);
	self_profile_free(s->self_profile);
	/* Its fetches check the store's disk state. */
	symbol_parts_free(s->parts);
	symbol_sources_free(s->symbols);
	store_close(s->store);
	http_server_free(s->http);
	tokens_close(s->tokens);
	audit_close(s->audit);
	rates_free(s->rates);
	agents_free(s->agents);
	tenant_counts_free(s->counts);
	backups_free(s->backups);
	server_user_release(&s->user);
	mutex_release(&s->scraper_lock);
	mutex_release(&s->told_lock);
	memory_account_put(s->connection_memory);
	memory_budget_free(s->memory);
	for (size_t i = 0; i < SERVER_MAX_LISTEN; i++)
		buf_release(&s->addresses[i]);
	mem_free(s);
}

/* Whether only this host can reach an address. */
static bool is_local(struct str address)
{
	return str_starts(address, STR("127.")) || str_starts(address, STR("[::1]")) ||
	       str_starts(address, STR("localhost:")) || str_starts(address, STR("unix:"));
}

/* A token file named in the options must exist; the default one may be created later. */
static enum err open_tokens(struct server *s, struct fault *fault)
{
	char path[4096];
	const char *directory = s->options.store.directory, *file = s->options.token_file;

	if (file)
		return tokens_open(file, false, &s->tokens, fault);
	if (!directory)
		return ERR_OK;
	if ((size_t)snprintf(path, sizeof(path), "%s/tokens", directory) >= sizeof(path))
		return fault_set(fault, ERR_BAD_ARGUMENT, "%s is too long a path", directory);
	return tokens_open(path, true, &s->tokens, fault);
}

static enum err check_exposure(const struct server *s, struct fault *fault)
{
	if (tokens_required(s->tokens) || s->options.insecure)
		return ERR_OK;
	for (size_t i = 0; i < s->options.listen_count; i++) {
		const char *address = s->options.listen[i].address;

		if (!is_local(str_of(address)))
			return fault_set(
				fault, ERR_NO_PERMISSION,
				"%s can be reached by other hosts, and there are no tokens: create "
				"one with \"vestal token create\", or use --insecure",
				address);
	}
	return ERR_OK;
}

/* Without a directory the log is all there is. */
static enum err open_audit(struct server *s, struct fault *fault)
{
	const char *directory = s->options.store.directory;

	return directory ? audit_open(directory, &s->audit, fault) : ERR_OK;
}

/* Events from the store's threads wait until the audit log is open. */
static enum err open_store(struct server *s, struct fault *fault)
{
	enum err error;

	s->options.store.tell = store_events_tell;
	s->options.store.tell_context = s;
	mutex_lock(&s->told_lock);
	error = store_open(&s->options.store, &s->store, fault);
	if (!error)
		error = open_audit(s, fault);
	if (error == ERR_NO_SPACE && s->store) {
		store_use_reserve(s->store);
		error = open_audit(s, fault);
	}
	mutex_unlock(&s->told_lock);
	return error;
}

static bool has_room(void *context)
{
	const struct server *s = context;
	struct store_state state;

	store_state(s->store, &state);
	return state.disk.state == STORE_DISK_OK;
}

static enum err open_symbols(struct server *s, struct fault *fault)
{
	const struct server_options *o = &s->options;
	struct symbol_sources_options sources = {.directory = o->store.directory,
						 .max_file = o->symbols_max_file,
						 .max_size = o->symbols_max_size,
						 .debuginfod = o->debuginfod,
						 .debuginfod_max_file = o->debuginfod_max_file,
						 .debuginfod_max_size = o->debuginfod_max_size,
						 .debuginfod_timeout = o->debuginfod_timeout,
						 .has_room = has_room,
						 .context = s};

	TRY(symbol_sources_new(&sources, &s->symbols, fault));
	return symbol_parts_new(o->symbols_max_file, &s->parts);
}

static enum err listen_all(struct server *s, struct fault *fault)
{
	for (size_t i = 0; i < s->options.listen_count; i++) {
		const struct server_listen *l = &s->options.listen[i];
		enum err e;

		buf_init(&s->addresses[i], 4096);
		e = http_server_listen(s->http, str_of(l->address), (uint16_t)i, &s->addresses[i],
				       fault);
		if (e == ERR_EXISTS && l->optional)
			buf_clear(&s->addresses[i]);
		else if (e)
			return e;
	}
	return ERR_OK;
}

static enum err reach_files(struct server *s, struct server_settings *settings)
{
	struct scrape_job *jobs = settings->scrape.v;

	for (size_t i = 0; i < settings->scrape.n; i++) {
		TRY(server_user_reach(&s->user, &jobs[i].bearer_token_file));
		TRY(server_user_reach(&s->user, &jobs[i].password_file));
		TRY(server_user_reach(&s->user, &jobs[i].ca_file));
	}
	return ERR_OK;
}

/* Creates the scraper of the settings file; NULL if it has no targets. */
static enum err load_scraper(struct server *s, struct scraper **ret, struct fault *fault)
{
	struct server_settings settings;
	enum err e;

	*ret = NULL;
	if (!s->options.config_file)
		return ERR_OK;
	settings_init(&settings);
	e = settings_load(&settings, s->options.config_file, fault);
	if (!e)
		e = reach_files(s, &settings);
	if (!e && settings.scrape.n)
		e = scraper_new(s, &settings, ret, fault);
	settings_release(&settings);
	return e;
}

/* The new one continues with the state of the old one. */
static enum err reload_scraper(struct server *s, struct fault *fault)
{
	struct scraper *old = s->scraper, *new;
	enum err e = ERR_OK;

	TRY(load_scraper(s, &new, fault));
	if (old)
		scraper_stop(old);
	if (old && new)
		e = scraper_inherit(new, old);
	if (!e && new)
		e = scraper_start(new);
	mutex_lock(&s->scraper_lock);
	s->scraper = new;
	mutex_unlock(&s->scraper_lock);
	scraper_free(old);
	return e;
}

static size_t shrink_store(void *context, struct str tenant, size_t wanted)
{
	struct server *s = context;

	return store_shrink(s->store, tenant, wanted);
}

static enum err open_data(struct server *s, struct fault *fault)
{
	TRY(open_store(s, fault));
	TRY(memory_budget_add_cache(s->memory, shrink_store, s));
	TRY(rates_new(s->options.tenant_rate, &s->rates));
	TRY(agents_new(&s->agents));
	TRY(tenant_counts_new(&s->counts));
	TRY(open_symbols(s, fault));
	return backups_new(s->options.store.directory, s->options.backup_directory, &s->backups,
			   fault);
}

static size_t at_most(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Everything that has a size of its own fits into the budget together. */
static enum err open_memory(struct server *s, struct fault *fault)
{
	struct server_options *o = &s->options;
	size_t limit = o->memory_limit ? o->memory_limit : memory_limit_default();

	if (limit < MEMORY_LEAST)
		return fault_set(fault, ERR_BAD_ARGUMENT,
				 "--memory-limit %zu is too little: a server needs %zu bytes",
				 limit, MEMORY_LEAST);
	o->memory_limit = limit;
	o->query_memory = at_most(o->query_memory, limit / 4);
	o->store.dictionary_memory =
		at_most(o->store.dictionary_memory, at_most(limit / 4, DICTIONARIES_MOST));
	TRY(memory_budget_new(limit, &s->memory));
	memory_budget_set_ceiling(s->memory, MEMORY_RECEIVED, at_most(o->max_in_flight, limit / 2));
	memory_budget_set_ceiling(s->memory, MEMORY_CONNECTIONS, limit / 8);
	TRY(memory_account_get(s->memory, STR("(connections)"), &s->connection_memory));
	o->http.account = s->connection_memory;
	o->store.memory = s->memory;
	return ERR_OK;
}

static enum err open_threads(struct server *s)
{
	struct workers_options o = {.threads = {[LANE_QUERIES] = s->options.query_threads}};

	TRY(workers_new(&o, &s->workers));
	return memory_watch_new(s->memory, s->workers, &s->memory_watch);
}

static void limit_connections(struct server *s)
{
	struct http_options *o = &s->options.http;
	unsigned limit = descriptors_raise();

	o->max_connections = descriptors_for_connections(limit, o->max_connections);
}

static enum err start(struct server *s, struct fault *fault)
{
	struct http_handlers handlers = {.context = s,
					 .admit = request_admit,
					 .handle = request_handle,
					 .finished = request_finished,
					 .refuse = request_refuse};

	mem_keep(KEPT_MEMORY);
	limit_connections(s);
	TRY(open_memory(s, fault));
	TRY(server_user_prepare(&s->user, &s->options, fault));
	/* Steps that need privileges: keys, settings file, low ports. */
	TRY(http_server_new(&s->options.http, &handlers, &s->http, fault));
	TRY(listen_all(s, fault));
	/* Before the first request can look at it. */
	TRY(load_scraper(s, &s->scraper, fault));
	TRY(server_user_become(&s->user, &s->options, fault));
	TRY(open_tokens(s, fault));
	TRY(check_exposure(s, fault));
	TRY(open_data(s, fault));
	TRY(open_threads(s));
	if (s->options.self_profile)
		TRY(self_profile_new(s, &s->self_profile, fault));
	TRY(http_server_start(s->http, fault));
	return s->scraper ? scraper_start(s->scraper) : ERR_OK;
}

enum err server_start(const struct server_options *options, struct server **ret,
		      struct fault *fault)
{
	struct server *s = mem_zalloc(1, sizeof(*s));
	enum err error;

	if (!s)
		return ERR_NO_MEMORY;
	s->options = *options;
	s->started_ns = clock_monotonic_ns();
	mutex_init(&s->scraper_lock);
	mutex_init(&s->told_lock);
	if (fault)
		*fault = (struct fault){0};
	error = start(s, fault);
	if (error != ERR_OK) {
		server_user_name_paths(&s->user, fault);
		/* Requests may be there already. */
		if (s->http)
			http_server_stop(s->http, 0);
		release(s);
		return error;
	}
	*ret = s;
	return ERR_OK;
}

struct str server_address(const struct server *s, size_t index)
{
	return buf_view(&s->addresses[index]);
}

struct store *server_store(struct server *s)
{
	return s->store;
}

enum err server_reload(struct server *s, struct fault *fault)
{
	enum err e = http_server_reload(s->http, fault);

	if (!e)
		e = reload_scraper(s, fault);
	server_user_name_paths(&s->user, fault);
	return e;
}

/* Stop requests first, then queries, then the store, each waiting for the one before, so that
 * acknowledged data is stored and running queries are answered. */
void server_stop(struct server *s)
{
	if (!s)
		return;
	log_info("stopping", log_u64("memory_bytes", memory_budget_look(s->memory).all.used));
	http_server_stop(s->http, clock_monotonic_ns() + STOP_PATIENCE_NS);
	release(s);
}
