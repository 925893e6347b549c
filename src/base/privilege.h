/*
 * Who a process is and what the kernel lets it do: choosing a user without privileges, becoming
 * that user with a few capabilities or none, and handing over the files it needs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Where the system has no users "vestal" and "vestal-agent". Nobody hands out 60578 to 60599: not
 * Debian, not systemd (UIDS-GIDS). */
#define PRIVILEGE_SERVER_UID 60590u
#define PRIVILEGE_AGENT_UID  60591u

struct privilege_user {
	uint32_t uid, gid;
	char name[64]; /* or the number */
};

/*
 * `wanted` is a name or a number of the system, NULL = `usual` when there is such a user, else the
 * number `fallback`, which no distribution gives to anybody.
 */
enum err privilege_find_user(const char *wanted, const char *usual, uint32_t fallback,
			     struct privilege_user *ret, struct fault *fault) MUST_CHECK;
/* Whether root may: a container may lack the capabilities, or know no such number. */
bool privilege_may_become(const struct privilege_user *u);
/* Keeps these capabilities (a bit each) of those it has, for good: bounding set and no_new_privs
 * too. Before there are threads: each has its own. */
enum err privilege_keep(uint64_t capabilities, struct fault *fault) MUST_CHECK;
/* Becomes the user, who keeps the capabilities; then as privilege_keep. */
enum err privilege_become(const struct privilege_user *u, uint64_t capabilities,
			  struct fault *fault) MUST_CHECK;
/* Whether all of these are held now. */
bool privilege_has(uint64_t capabilities);
/* "bpf, perfmon"; "none", "all". Returns `room`. */
const char *privilege_names(uint64_t capabilities, char *room, size_t size);
/* Whether the user may enter the folder; asked with the user's own rights, by root. */
bool privilege_reaches(const struct privilege_user *u, const char *folder);

/*
 * Hands a folder of ours with what is in it to a user, by root: folders and files that belong to
 * root, to the user already, or to one of the two numbers above, and gives others no access. What
 * is not plain is refused by name: a file with a second name, one of somebody else, another file
 * system. Links are left as they are, and not followed.
 */
enum err privilege_hand_over(const char *folder, const struct privilege_user *u,
			     struct fault *fault) MUST_CHECK;
/* Whether nothing is in the folder but what the list (ends with NULL) names: "LOCK", "*.entry". */
bool privilege_folder_has_only(const char *folder, const char *const *names);
/* The same for one file. */
enum err privilege_hand_over_file(const char *path, const struct privilege_user *u,
				  struct fault *fault) MUST_CHECK;
