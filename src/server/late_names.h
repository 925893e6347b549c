/*
 * Frames that were stored as a place in a program get their names when they are asked for, from
 * files that came later (symbol_desk.h): functions, files, lines, and inlined functions as frames
 * of their own. Addresses and modules stay, so that frames of one function become one where tables
 * and trees are made, as always.
 */
#pragma once

#include "server/symbol_desk.h"
#include "store/store.h"

/* What was named, for questions that the store answers by names. All zero is empty. */
struct late_names {
	struct arena arena;	       /* holds the texts */
	VEC(struct late_frame) frames; /* in order of build id and offset */
};

void late_names_release(struct late_names *l);
/*
 * Names what can be named in the rows of a profile. Costs nothing for a tenant without symbol files
 * and next to nothing where no frame lacks a name. What takes too long stays without its name until
 * the next question; so does what has to be fetched first.
 */
enum err late_names_apply(struct symbol_desk *desk, struct str tenant, struct profile *p,
			  const atomic_bool *cancelled, struct late_names *ret) MUST_CHECK;
