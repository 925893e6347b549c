/*
 * All RPCs for queries: Pyroscope's querier, and small services that its clients expect.
 */
#include "base/clock.h"
#include "server/querier.h"
#include "server/routes.h"

/* ------------------------------------------------------------------ settings */

#define MAX_SETTING_NAME  200
#define MAX_SETTING_VALUE 65536

struct setting_message {
	struct str name, value;
	int64_t modified_ms;
};
struct setting_holder {
	struct setting_message *setting;
};
struct settings_reply {
	struct list settings;
};
struct setting_name {
	struct str name;
};

static const struct message
	setting_table =
		{"Setting",
		 (const struct field[]){
			 {1, "name", FIELD_TEXT, .at = offsetof(struct setting_message, name)},
			 {2, "value", FIELD_TEXT, .at = offsetof(struct setting_message, value)},
			 {3, "modifiedAt", FIELD_INT,
			  .at = offsetof(struct setting_message, modified_ms)},
			 {0}},
		 sizeof(struct setting_message)},
	setting_holder_table = {"SetSetting",
				(const struct field[]){
					{1, "setting", FIELD_MESSAGE,
					 .at = offsetof(struct setting_holder, setting),
					 .message = &setting_table},
					{0}},
				sizeof(struct setting_holder)},
	settings_reply_table = {"GetSettingsResponse",
				(const struct field[]){
					{1, "settings", FIELD_MESSAGE, .repeated = true,
					 .at = offsetof(struct settings_reply, settings),
					 .message = &setting_table},
					{0}},
				sizeof(struct settings_reply)},
	setting_name_table = {"DeleteSetting",
			      (const struct field[]){{1, "name", FIELD_TEXT,
						      .at = offsetof(struct setting_name, name)},
						     {0}},
			      sizeof(struct setting_name)};

static enum err call_settings_get(struct request *r, const void *in, void *out, struct arena *scope,
				  struct fault *fault)
{
	struct settings_reply *reply = out;
	struct setting_answer answer = {0};
	enum err error = store_settings(r->server->store, r->tenant, &answer);
	struct setting_message *list = NULL;

	(void)in, (void)fault;
	if (error == ERR_OK) {
		list = list_make(&reply->settings, answer.n, sizeof(*list), scope);
		error = list ? ERR_OK : ERR_NO_MEMORY;
	}
	for (size_t i = 0; error == ERR_OK && i < answer.n; i++) {
		list[i].modified_ms = answer.v[i].modified_ns / NS_PER_MS;
		error = copy_str(scope, answer.v[i].name, &list[i].name);
		if (error == ERR_OK)
			error = copy_str(scope, answer.v[i].value, &list[i].value);
	}
	arena_release(&answer.arena);
	return error;
}

/* Log only the name, because the value may be a secret. */
static enum err audit_setting(struct request *r, const char *action, struct str name,
			      struct fault *fault)
{
	return request_audit(r, action, &(struct audit_pair){"setting", name}, 1, fault);
}

static enum err call_settings_set(struct request *r, const void *in, void *out, struct arena *scope,
				  struct fault *fault)
{
	const struct setting_holder *request = in;
	struct setting_holder *reply = out;

	(void)scope;
	if (!request->setting || !request->setting->name.n)
		return fault_set(fault, ERR_BAD_ARGUMENT, "a setting has a name");
	struct str value = request->setting->value;

	if (request->setting->name.n > MAX_SETTING_NAME || value.n > MAX_SETTING_VALUE)
		return fault_set(fault, ERR_TOO_LARGE,
				 "a setting's name has up to %d bytes, its value up to %d",
				 MAX_SETTING_NAME, MAX_SETTING_VALUE);
	TRY(audit_setting(r, "setting_set", request->setting->name, fault));
	TRY(store_setting_set(r->server->store, r->tenant, request->setting->name,
			      value.n ? value : STR("")));
	reply->setting = request->setting;
	reply->setting->modified_ms = clock_wall_ns() / NS_PER_MS;
	return ERR_OK;
}

static enum err call_settings_delete(struct request *r, const void *in, void *out,
				     struct arena *scope, struct fault *fault)
{
	const struct setting_name *request = in;

	(void)out, (void)scope;
	TRY(audit_setting(r, "setting_delete", request->name, fault));
	return store_setting_set(r->server->store, r->tenant, request->name, (struct str){0});
}

static const struct rpc_method method_settings_get = {&empty_table, &settings_reply_table,
						      call_settings_get},
			       method_settings_set = {&setting_holder_table, &setting_holder_table,
						      call_settings_set},
			       method_settings_delete = {&setting_name_table, &empty_table,
							 call_settings_delete};

/* ------------------------------------------------------------------ versions */

struct version_reply {
	int64_t querier_api;
};
static const struct message version_table = {
	"VersionResponse",
	(const struct field[]){{1, "QuerierAPI", FIELD_INT,
				.at = offsetof(struct version_reply, querier_api)},
			       {0}},
	sizeof(struct version_reply)};

static enum err call_version(struct request *r, const void *in, void *out, struct arena *scope,
			     struct fault *fault)
{
	(void)r, (void)in, (void)scope, (void)fault;
	((struct version_reply *)out)->querier_api = 1;
	return ERR_OK;
}

static const struct rpc_method method_version = {&empty_table, &version_table, call_version};

struct feature {
	struct str name;
	bool enabled;
};
struct features_reply {
	struct list features;
};
static const struct message feature_table = {"FeatureFlag",
					     (const struct field[]){
						     {1, "name", FIELD_TEXT,
						      .at = offsetof(struct feature, name)},
						     {2, "enabled", FIELD_BOOL,
						      .at = offsetof(struct feature, enabled)},
						     {0}},
					     sizeof(struct feature)},
			    features_table = {
				    "GetFeatureFlagsResponse",
				    (const struct field[]){
					    {1, "featureFlags", FIELD_MESSAGE, .repeated = true,
					     .at = offsetof(struct features_reply, features),
					     .message = &feature_table},
					    {0}},
				    sizeof(struct features_reply)};

static enum err call_features(struct request *r, const void *in, void *out, struct arena *scope,
			      struct fault *fault)
{
	struct features_reply *reply = out;
	struct feature *list = list_make(&reply->features, 2, sizeof(*list), scope);

	(void)r, (void)in, (void)fault;
	if (!list)
		return ERR_NO_MEMORY;
	list[0] = (struct feature){STR("pyroscopeRuler"), false};
	list[1] = (struct feature){STR("utf8LabelNames"), true};
	return ERR_OK;
}

static const struct rpc_method method_features = {&empty_table, &features_table, call_features};

#define QUERIER "/querier.v1.QuerierService/"
#define ASK	(ROUTE_READ | ROUTE_WORKER)

const struct route rpc_routes[] = {
	RPC_ROUTE(QUERIER "ProfileTypes", ASK, &method_profile_types),
	RPC_ROUTE(QUERIER "LabelNames", ASK, &method_label_names),
	RPC_ROUTE(QUERIER "LabelValues", ASK, &method_label_values),
	RPC_ROUTE(QUERIER "Series", ASK, &method_series),
	RPC_ROUTE(QUERIER "SelectMergeStacktraces", ASK, &method_merge_stacktraces),
	RPC_ROUTE(QUERIER "SelectMergeSpanProfile", ASK, &method_merge_spans),
	{"POST", QUERIER "SelectMergeProfile", ASK | ROUTE_RPC, QUERIER "SelectMergeProfile",
	 handle_merge_profile, NULL},
	RPC_ROUTE(QUERIER "SelectSeries", ASK, &method_select_series),
	RPC_ROUTE(QUERIER "SelectHeatmap", ASK, &method_heatmap),
	RPC_ROUTE(QUERIER "Diff", ASK, &method_diff),
	RPC_ROUTE(QUERIER "GetProfileStats", ASK, &method_stats),
	RPC_ROUTE(QUERIER "AnalyzeQuery", ASK, &method_analyze),
	RPC_ROUTE("/settings.v1.SettingsService/Get", ASK, &method_settings_get),
	RPC_ROUTE("/settings.v1.SettingsService/Set", ASK | ROUTE_ADMIN, &method_settings_set),
	RPC_ROUTE("/settings.v1.SettingsService/Delete", ASK | ROUTE_ADMIN,
		  &method_settings_delete),
	RPC_ROUTE("/version.v1.Version/Version", ROUTE_READ, &method_version),
	RPC_ROUTE("/capabilities.v1.FeatureFlagsService/GetFeatureFlags", ROUTE_READ,
		  &method_features),
	{0},
};
