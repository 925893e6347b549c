#include "profile_maker.h"

#include "base/buf.h"

static bool dictionary_has(const struct dict *d, const char *text)
{
	return str_search(str_n(d->bytes.v, d->bytes.n), str_of(text)) < d->bytes.n;
}

static enum err redact(struct made *src, const char *pattern, enum redact_paths paths,
		       struct made *dst, struct redact_result *ret)
{
	struct redact_options options = {.pattern = str_of(pattern), .paths = paths};

	TRY(dict_init(&dst->dict, 99));
	profile_init(&dst->p, &dst->dict);
	return profile_redact(&src->p, &options, &dst->p, ret, NULL);
}

static enum err secrets(struct made *m)
{
	struct mapping mapping = {.start = 0x1000};
	struct frame f = {.address = 0x1234};
	struct row row = {0};
	int64_t one = 1;
	uint32_t id;

	TRY(made_init(m, 1));
	TRY(maker_add(&m->p, "main@/home/ann/shop/main.c:3;checkPassword@/home/ann/shop/auth.c:9",
		      "thread=main,user_token=abc123,note=my Secret note", (int64_t[]){1}));
	TRY(maker_add(&m->p, "main@/home/ann/shop/main.c:3;resetPASSWORD@/home/ann/shop/auth.c:9",
		      "thread=main,user_token=xyz789,note=credential x", (int64_t[]){2}));
	TRY(dict_text(&m->dict, "/home/ann/lib/libsecret.so", &mapping.file));
	TRY(dict_mapping(&m->dict, &mapping, &f.mapping));
	TRY(dict_frame(&m->dict, &f, &id));
	TRY(dict_stack(&m->dict, &id, 1, &row.stack));
	TRY(profile_add(&m->p, &row, &one));
	TRY(maker_labels(&m->dict, "service=shop,api.token=t0p,cwd=/home/ann/shop",
			 &m->p.resource));
	TRY(dict_text(&m->dict, "started with --password=hunter2", &id));
	TRY(vec_push(&m->p.comments, id));
	TRY(dict_text(&m->dict, "harmless", &id));
	TRY(vec_push(&m->p.comments, id));
	return dict_text(&m->dict, "check_password.*", &m->p.drop_frames);
}

TEST(nothing_of_a_secret_is_left_anywhere)
{
	static const char *const gone[] = {"hunter2",	    "abc123",	     "xyz789",	   "Secret",
					   "checkPassword", "PASSWORD",	     "credential", "t0p",
					   "libsecret",	    "check_password"};
	MADE(m);
	MADE(out);
	struct redact_result result = {0};

	CHECK_OK(secrets(&m));
	CHECK_OK(redact(&m, "", PATHS_KEEP, &out, &result));
	for (size_t i = 0; i < sizeof(gone) / sizeof(gone[0]); i++)
		if (dictionary_has(&out.dict, gone[i]))
			test_fail(__FILE__, __LINE__, "%s is left", gone[i]);
	CHECK(dictionary_has(&out.dict, "main"));
	CHECK(dictionary_has(&out.dict, "harmless"));
	CHECK(dictionary_has(&out.dict, "shop"));
	CHECK(dictionary_has(&out.dict, "/home/ann/shop/auth.c"));
	CHECK_INT(result.names, 2);
	CHECK_INT(result.files, 1);
	CHECK(result.labels >= 4);
	CHECK_INT(profile_total(&out.p, 0), 4);
}

TEST(rows_that_became_equal_are_added_up)
{
	MADE(m);
	MADE(out);

	CHECK_OK(secrets(&m));
	CHECK_OK(redact(&m, "", PATHS_KEEP, &out, NULL));
	CHECK_INT(out.p.row_count, 2);
	CHECK_INT(out.p.values[0], 3);
	CHECK_STR(
		dict_str(
			&out.dict,
			(uint32_t)label_find(&out.dict, out.p.labels[0], STR("user_token"))->value),
		REDACTED_TEXT);
	CHECK_STR(dict_str(&out.dict,
			   (uint32_t)label_find(&out.dict, out.p.labels[0], STR("thread"))->value),
		  "main");
}

TEST(paths_are_stripped)
{
	MADE(m);
	MADE(out);

	CHECK_OK(secrets(&m));
	CHECK_OK(redact(&m, "nothing-matches", PATHS_STRIP, &out, NULL));
	CHECK(!dictionary_has(&out.dict, "/home"));
	CHECK(!dictionary_has(&out.dict, "ann"));
	CHECK(dictionary_has(&out.dict, "auth.c"));
	CHECK(dictionary_has(&out.dict, "libsecret.so"));
}

TEST(masked_paths_keep_files_of_one_directory_together)
{
	MADE(m);
	MADE(out);
	uint32_t n;
	const uint32_t *frames;
	struct str leaf, root;

	CHECK_OK(secrets(&m));
	CHECK_OK(redact(&m, "nothing-matches", PATHS_MASK, &out, NULL));
	CHECK(!dictionary_has(&out.dict, "/home"));
	frames = stack_frames(&out.dict, out.p.stack[0], &n);
	leaf = frame_file(&out.dict, frames[0]);
	root = frame_file(&out.dict, frames[1]);
	CHECK_INT(leaf.n, 5 + sizeof("/auth.c") - 1);
	CHECK(str_ends(leaf, STR("/auth.c")));
	CHECK(str_ends(root, STR("/main.c")));
	CHECK(memcmp(leaf.p, root.p, 6) == 0);
}

TEST(paths_inside_names_and_values_are_shortened_too)
{
	MADE(m);
	MADE(out);

	CHECK_OK(made_init(&m, 1));
	CHECK_OK(maker_add(&m.p, "main;LazyCompile:~run /home/ann/app.js:12;a / b;operator/",
			   "cmd=node /home/ann/app.js --out=/home/ann/x C:\\Users\\ann\\y.js "
			   "(file:///home/ann/z.js)",
			   (int64_t[]){1}));
	CHECK_OK(redact(&m, "nothing-matches", PATHS_STRIP, &out, NULL));
	CHECK(!dictionary_has(&out.dict, "ann"));
	CHECK(dictionary_has(&out.dict, "LazyCompile:~run app.js:12"));
	CHECK(dictionary_has(&out.dict, "a / b"));
	CHECK(dictionary_has(&out.dict, "operator/"));
	CHECK(dictionary_has(&out.dict, "node app.js --out=x y.js (z.js)"));
}

TEST(number_under_a_secret_key_is_hidden)
{
	MADE(m);
	MADE(out);
	struct label l = {.type = LABEL_INT, .value = 123456789};
	uint32_t id;
	const struct label *hidden;

	CHECK_OK(made_init(&m, 1));
	CHECK_OK(dict_text(&m.dict, "token_id", &l.key));
	CHECK_OK(dict_label(&m.dict, &l, &id));
	CHECK_OK(dict_label_set(&m.dict, &id, 1, &m.p.resource));
	CHECK_OK(redact(&m, "", PATHS_KEEP, &out, NULL));
	hidden = label_find(&out.dict, out.p.resource, STR("token_id"));
	CHECK(hidden && hidden->type == LABEL_STRING);
}

TEST(everything_else_survives)
{
	MADE(m);
	MADE(out);

	CHECK_OK(secrets(&m));
	m.p.time_ns = 5;
	m.p.duration_ns = 6;
	m.p.period = 7;
	m.p.default_type = 0;
	m.p.profile_id[0] = 8;
	CHECK_OK(dict_text(&m.dict, "cpu", &m.p.period_type.type));
	CHECK_OK(redact(&m, "x-y-z", PATHS_KEEP, &out, NULL));
	CHECK_INT(out.p.time_ns, 5);
	CHECK_INT(out.p.duration_ns, 6);
	CHECK_INT(out.p.period, 7);
	CHECK_INT(out.p.default_type, 0);
	CHECK_INT(out.p.profile_id[0], 8);
	CHECK_STR(dict_str(&out.dict, out.p.period_type.type), "cpu");
	CHECK_STR(dict_str(&out.dict, out.p.drop_frames), "check_password.*");
	CHECK_INT(out.p.row_count, 3);
	CHECK_INT(out.p.comments.n, 2);
}

TEST(redaction_needs_another_dictionary_and_a_valid_pattern)
{
	MADE(m);
	MADE(n);
	CLEANUP(profile_release) struct profile out;
	struct fault fault = {0};
	struct redact_options options = {.pattern = STR("(")};

	CHECK_OK(secrets(&m));
	CHECK_OK(made_init(&n, 2));
	profile_init(&out, &m.dict);
	CHECK_ERR(profile_redact(&m.p, &options, &out, NULL, &fault), ERR_BAD_ARGUMENT);
	out.dict = &n.dict;
	CHECK_ERR(profile_redact(&m.p, &options, &out, NULL, &fault), ERR_BAD_ARGUMENT);
	CHECK(strstr(fault.text, "pattern"));
}

TEST(what_has_nothing_to_hide_need_not_be_rewritten)
{
	struct redact_options options = {0};
	CLEANUP(dict_release) struct dict d;
	struct fault fault = {0};
	bool needed = true;
	uint32_t id;

	CHECK_OK(dict_init(&d, 1));
	CHECK_OK(dict_text(&d, "/home/ann/cart.c", &id));
	CHECK_OK(redact_is_needed(&d, &options, &needed, &fault));
	CHECK(!needed);
	options.paths = PATHS_STRIP;
	CHECK_OK(redact_is_needed(&d, &options, &needed, &fault));
	CHECK(needed);
	options.paths = PATHS_KEEP;
	CHECK_OK(dict_text(&d, "read_PassWord", &id));
	CHECK_OK(redact_is_needed(&d, &options, &needed, &fault));
	CHECK(needed);
	options.paths_only = true;
	CHECK_OK(redact_is_needed(&d, &options, &needed, &fault));
	CHECK(!needed);
	options = (struct redact_options){.pattern = STR("CART")};
	CHECK_OK(redact_is_needed(&d, &options, &needed, &fault));
	CHECK(needed);
	options.pattern = STR("(");
	CHECK_ERR(redact_is_needed(&d, &options, &needed, &fault), ERR_BAD_ARGUMENT);
}

static enum err small_redaction(struct made *m)
{
	MADE(out);

	return redact(m, "", PATHS_MASK, &out, NULL);
}

TEST(redaction_survives_any_allocation_failing)
{
	MADE(m);

	CHECK_OK(secrets(&m));
	ALLOC_SWEEP(small_redaction(&m));
}
