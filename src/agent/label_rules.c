#include "agent/label_rules.h"

#include <stdio.h>

#include "base/vec.h"

#define RULES_MAX      1000
/* All labels that rules give one process. */
#define LABELS_CEILING 8192

#define RULE(path_, kind_, field_, ...) \
	CONFIG_ROW(path_, kind_, struct label_rule_text, field_, ##__VA_ARGS__)

static const struct config_option options[] = {
	RULE("match.executable", TEXT, executable),
	RULE("match.cmdline", TEXT, cmdline),
	RULE("match.cgroup", TEXT, cgroup),
	RULE("match.env", MAP, env),
	RULE("service", TEXT, service),
	RULE("labels", MAP, labels),
	RULE("drop", BOOL, drop),
	{0},
};

const struct config_table label_rule_table = {options, sizeof(struct label_rule_text), NULL,
					      offsetof(struct label_rule_text, line)};

struct label_rule {
	const struct label_rule_text *text;
	struct pattern *executable, *cmdline, *cgroup; /* NULL = any value */
	struct pattern **env;
};

struct label_rules {
	VEC(struct label_rule) list;
};

void label_rules_free(struct label_rules *r)
{
	if (!r)
		return;
	vec_for_each (rule, &r->list) {
		pattern_free(rule->executable);
		pattern_free(rule->cmdline);
		pattern_free(rule->cgroup);
		for (size_t i = 0; rule->env && i < rule->text->env.n; i++)
			pattern_free(rule->env[i]);
		mem_free(rule->env);
	}
	vec_release(&r->list);
	mem_free(r);
}

struct place {
	const char *file;
	size_t line;
	struct fault *fault;
};

static enum err refuse(const struct place *at, const char *what)
{
	return fault_set(at->fault, ERR_BAD_ARGUMENT, "%.60s line %zu: %.200s", at->file, at->line,
			 what);
}

static enum err compile(const struct place *at, const char *key, const char *source,
			struct pattern **ret)
{
	struct fault why = {0};
	char text[240];
	enum err e;

	if (!source)
		return ERR_OK;
	e = pattern_new(str_of(source), 0, ret, &why);
	if (!e || e == ERR_NO_MEMORY)
		return e;
	snprintf(text, sizeof(text), "match.%s: %.180s", key, why.text);
	return refuse(at, text);
}

static enum err check_labels(const struct place *at, const struct label_rule_text *text)
{
	for (size_t i = 0; i < text->labels.n; i++)
		if (!text->labels.v[i].name[0] || strpbrk(text->labels.v[i].name, "=\n") ||
		    strchr(text->labels.v[i].value, '\n'))
			return refuse(at, "a label's name has no \"=\", and neither part a new "
					  "line");
	if (text->service && !text->service[0])
		return refuse(at, "service is empty");
	if (!text->service && !text->labels.n && !text->drop)
		return refuse(at, "the rule has no effect: service, labels or drop is missing");
	return ERR_OK;
}

static enum err add_rule(struct label_rules *r, const struct label_rule_text *text,
			 const struct place *at)
{
	struct label_rule *rule;

	TRY(check_labels(at, text));
	TRY(vec_push(&r->list, ((struct label_rule){.text = text})));
	rule = &r->list.v[r->list.n - 1];
	TRY(compile(at, "executable", text->executable, &rule->executable));
	TRY(compile(at, "cmdline", text->cmdline, &rule->cmdline));
	TRY(compile(at, "cgroup", text->cgroup, &rule->cgroup));
	if (!text->env.n)
		return ERR_OK;
	rule->env = mem_zalloc(text->env.n, sizeof(*rule->env));
	if (!rule->env)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < text->env.n; i++)
		TRY(compile(at, "env", text->env.v[i].value, &rule->env[i]));
	return ERR_OK;
}

enum err label_rules_new(const struct label_rule_text *texts, size_t n, const char *file,
			 struct label_rules **ret, struct fault *fault)
{
	struct label_rules *r = mem_zalloc(1, sizeof(*r));
	enum err e = ERR_OK;

	if (!r)
		return ERR_NO_MEMORY;
	if (n > RULES_MAX)
		e = fault_set(fault, ERR_TOO_LARGE, "%.60s: more than %d rules", file, RULES_MAX);
	for (size_t i = 0; !e && i < n; i++)
		e = add_rule(r, &texts[i], &(struct place){file, texts[i].line, fault});
	if (e) {
		label_rules_free(r);
		return e;
	}
	*ret = r;
	return ERR_OK;
}

/* A match that exceeds the limits counts as no match. */
static bool fits(const struct pattern *p, struct str text)
{
	bool yes = false;

	return !p || (pattern_match(p, text, &yes) == ERR_OK && yes);
}

static bool rule_fits(const struct label_rule *rule, struct process_look *look)
{
	if (!fits(rule->executable, look->facts->program) ||
	    (rule->cmdline && !fits(rule->cmdline, look_command(look))) ||
	    (rule->cgroup && !fits(rule->cgroup, look_cgroup(look))))
		return false;
	for (size_t i = 0; i < rule->text->env.n; i++) {
		struct str value;

		if (!look_variable(look, str_of(rule->text->env.v[i].name), &value) ||
		    !fits(rule->env[i], value))
			return false;
	}
	return true;
}

/* Lines "key=value"; a key that is there already goes. */
static void set_label(struct buf *labels, struct str key, struct str value)
{
	struct str rest = buf_view(labels), line;
	size_t at = 0;

	while (str_split(&rest, '\n', &line)) {
		size_t next = at + line.n + 1;

		if (line.n > key.n && line.p[key.n] == '=' && str_starts(line, key)) {
			memmove(labels->data + at, labels->data + next, labels->n - next);
			labels->n -= next - at;
			break;
		}
		at = next;
	}
	buf_printf(labels, "%.*s=%.*s\n", (int)key.n, key.p, (int)value.n, value.p);
}

static enum err apply_one(const struct label_rule_text *text, struct arena *arena,
			  struct process_facts *facts)
{
	CLEANUP(buf_release) struct buf labels = BUF_INIT(LABELS_CEILING);
	char *copy;

	if (text->service) {
		copy = arena_copy(arena, str_of(text->service));
		if (!copy)
			return ERR_NO_MEMORY;
		facts->service = str_of(copy);
	}
	if (!text->labels.n)
		return ERR_OK;
	buf_str(&labels, facts->labels);
	for (size_t i = 0; i < text->labels.n; i++)
		set_label(&labels, str_of(text->labels.v[i].name), str_of(text->labels.v[i].value));
	/* More than there is room for: the process keeps what it has. */
	if (buf_error(&labels))
		return buf_error(&labels) == ERR_NO_MEMORY ? ERR_NO_MEMORY : ERR_OK;
	copy = arena_copy(arena, buf_view(&labels));
	if (!copy)
		return ERR_NO_MEMORY;
	facts->labels = str_n(copy, labels.n);
	return ERR_OK;
}

enum err label_rules_apply(const struct label_rules *r, struct process_look *look,
			   struct arena *arena, struct process_facts *facts, bool *ret_drop)
{
	bool drop = false;

	vec_for_each (rule, &r->list) {
		if (!rule_fits(rule, look))
			continue;
		TRY(apply_one(rule->text, arena, facts));
		drop |= rule->text->drop;
	}
	*ret_drop = drop;
	return ERR_OK;
}

bool label_rules_drop(const struct label_rules *r)
{
	vec_for_each (rule, &r->list)
		if (rule->text->drop)
			return true;
	return false;
}
