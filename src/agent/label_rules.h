/*
 * The `rules` of the settings file: conditions on processes, and their labels. All matching rules
 * are applied in order; later ones take precedence.
 */
#pragma once

#include "agent/process_look.h"
#include "config/config.h"
#include "model/model.h"

/* As given in the file. */
struct label_rule_text {
	const char *executable, *cmdline, *cgroup; /* regular expressions */
	struct config_map env;			   /* name: regular expression */
	const char *service;
	struct config_map labels;
	bool drop;
	size_t line; /* of the file */
};

extern const struct config_table label_rule_table;

struct label_rules;

/* ERR_BAD_ARGUMENT, with a message that names the rule and the key. The strings must remain
 * valid. */
enum err label_rules_new(const struct label_rule_text *texts, size_t n, const char *file,
			 struct label_rules **ret, struct fault *fault) MUST_CHECK;
void label_rules_free(struct label_rules *r);
/* Changes the facts; `ret_drop`: the process must not be profiled. Strings are allocated in the
 * arena. */
enum err label_rules_apply(const struct label_rules *r, struct process_look *look,
			   struct arena *arena, struct process_facts *facts,
			   bool *ret_drop) MUST_CHECK;
/* Whether any rule drops processes. */
bool label_rules_drop(const struct label_rules *r);
