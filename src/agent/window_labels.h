/* Labels of samples and processes. */
#pragma once

#include "agent/window.h"

#define LABELS_MAX 20

struct label_list {
	struct dict *dict;
	uint32_t ids[LABELS_MAX];
	uint32_t n;
};

/* Does nothing for an empty value. */
enum err labels_add_text(struct label_list *l, const char *key, struct str value) MUST_CHECK;
enum err labels_add_number(struct label_list *l, const char *key, int64_t value) MUST_CHECK;
/* A thread name (16 bytes chosen by the program) as valid text. */
enum err labels_add_name(struct label_list *l, const char *key, const char name[16]) MUST_CHECK;
/* Adds the thread, and for waits state and waker. */
enum err labels_of_sample(const struct collector *c, struct names *n, const struct collected *one,
			  struct label_list *l) MUST_CHECK;
/*
 * Adds attributes of the profile: a rate lowered by the budget, lost samples, and for an off-CPU
 * profile of this process (else NULL) its level.
 */
enum err labels_of_limit(const struct window *w, const struct process *process, struct dict *d,
			 uint32_t *ret) MUST_CHECK;
/* The labels of a process as an OpenTelemetry resource. */
enum err labels_of_process(const struct process *process, const char *host, struct dict *d,
			   uint32_t *ret) MUST_CHECK;
