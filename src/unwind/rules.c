/* The table of long rules: few hundred distinct ones serve a whole machine. */
#include "unwind/unwind.h"

#include "base/hash.h"
#include "base/map.h"
#include "base/vec.h"

struct unwind_rules {
	VEC(struct unwind_rule) list;
	struct map by_content;
};

static uint64_t rule_hash(const struct unwind_rule *r)
{
	uint64_t words[2];

	_Static_assert(sizeof(*r) == sizeof(words), "a rule is two words");
	memcpy(words, r, sizeof(words));
	return hash_mix(words[0], words[1]);
}

enum err unwind_rules_new(struct unwind_rules **ret)
{
	static const struct unwind_rule fixed[] = {{.kind = UNWIND_NONE},
						   {.kind = UNWIND_END},
						   {.kind = UNWIND_SIGNAL},
						   {.kind = UNWIND_SWITCH}};
	struct unwind_rules *rules = mem_zalloc(1, sizeof(*rules));

	if (!rules)
		return ERR_NO_MEMORY;
	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
		if (unwind_rules_intern(rules, &fixed[i]) != (UNWIND_ESCAPE | i)) {
			unwind_rules_free(rules);
			return ERR_NO_MEMORY;
		}
	}
	*ret = rules;
	return ERR_OK;
}

void unwind_rules_free(struct unwind_rules *rules)
{
	if (!rules)
		return;
	vec_release(&rules->list);
	map_release(&rules->by_content);
	mem_free(rules);
}

u32 unwind_rules_intern(struct unwind_rules *rules, const struct unwind_rule *rule)
{
	uint64_t hash = rule_hash(rule);

	MAP_PROBE(&rules->by_content, hash, id)
	{
		if (!memcmp(&rules->list.v[id], rule, sizeof(*rule)))
			return UNWIND_ESCAPE | id;
	}
	/* Too many or no memory: such frames cannot be unwound, which the profile then says. */
	if (rules->list.n >= UNWIND_RULES_MAX || vec_push(&rules->list, *rule) != ERR_OK)
		return UNWIND_RULE_NONE;
	if (map_put(&rules->by_content, hash, (uint32_t)rules->list.n - 1) != ERR_OK) {
		rules->list.n--;
		return UNWIND_RULE_NONE;
	}
	return UNWIND_ESCAPE | (uint32_t)(rules->list.n - 1);
}

const struct unwind_rule *unwind_rules_all(const struct unwind_rules *rules, size_t *ret_count)
{
	*ret_count = rules->list.n;
	return rules->list.v;
}
