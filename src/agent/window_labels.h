/* The labels of samples and of the processes they come from. */
#pragma once

#include "agent/window.h"

#define LABELS_MAX 20

struct label_list {
	struct dict *dict;
	uint32_t ids[LABELS_MAX];
	uint32_t n;
};

/* Nothing is added for an empty value. */
enum err labels_add_text(struct label_list *l, const char *key, struct str value) MUST_CHECK;
enum err labels_add_number(struct label_list *l, const char *key, int64_t value) MUST_CHECK;
/* A name of 16 bytes that a program chose, as text. */
enum err labels_add_name(struct label_list *l, const char *key, const char name[16]) MUST_CHECK;
/* The thread; of a wait its state, and who ended it. */
enum err labels_of_sample(const struct collector *c, struct names *n, const struct collected *one,
			  struct label_list *l) MUST_CHECK;
/*
 * What the profile says of itself when the agent's budget lowered the rate, or samples were lost;
 * or, of a profile of this process's off-CPU time (else NULL), how much less closely it was
 * followed.
 */
enum err labels_of_limit(const struct window *w, const struct process *process, struct dict *d,
			 uint32_t *ret) MUST_CHECK;
/* The label set of a process as OpenTelemetry's resource. */
enum err labels_of_process(const struct process *process, const char *host, struct dict *d,
			   uint32_t *ret) MUST_CHECK;
