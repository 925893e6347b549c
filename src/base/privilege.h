/*
 * User and capabilities of a process: choosing an unprivileged user, becoming that user with few
 * capabilities or none, and handing over the files it needs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Used if the system has no users "vestal" and "vestal-agent". Neither Debian nor systemd
 * (UIDS-GIDS) assigns 60578 to 60599. */
#define PRIVILEGE_SERVER_UID 60590u
#define PRIVILEGE_AGENT_UID  60591u

struct privilege_user {
	uint32_t uid, gid;
	char name[64]; /* or the number */
};

/*
 * `wanted` is a user name or number; NULL = the user `usual` if it exists, else the number
 * `fallback`, which distributions do not assign.
 */
enum err privilege_find_user(const char *wanted, const char *usual, uint32_t fallback,
			     struct privilege_user *ret, struct fault *fault) MUST_CHECK;
/* Whether root can become that user: a container may lack the capabilities or the user id. */
bool privilege_may_become(const struct privilege_user *u);
/* Permanently drops all other capabilities (one bit each), also from the bounding set, and sets
 * no_new_privs. Call it before there are threads, because each has its own. */
enum err privilege_keep(uint64_t capabilities, struct fault *fault) MUST_CHECK;
/* Becomes the user, keeping these capabilities, then as privilege_keep. */
enum err privilege_become(const struct privilege_user *u, uint64_t capabilities,
			  struct fault *fault) MUST_CHECK;
/* Whether the process has all of these. */
bool privilege_has(uint64_t capabilities);
/* "bpf, perfmon"; "none", "all". Returns `room`. */
const char *privilege_names(uint64_t capabilities, char *room, size_t size);
/* Whether the user may enter the folder. Called as root, tests with the user's permissions. */
bool privilege_reaches(const struct privilege_user *u, const char *folder);

/*
 * Called as root: changes the owner of one of our folders and everything in it to a user, if the
 * owner is root, that user, or one of the two ids above, and removes access for others. Fails,
 * naming the file, if one has several hard links, another owner, or is on another file system.
 * Symbolic links are left unchanged and not followed.
 */
enum err privilege_hand_over(const char *folder, const struct privilege_user *u,
			     struct fault *fault) MUST_CHECK;
/* Whether the folder contains only files that match the list (ends with NULL): "LOCK",
 * "*.entry". */
bool privilege_folder_has_only(const char *folder, const char *const *names);
/* The same for one file. */
enum err privilege_hand_over_file(const char *path, const struct privilege_user *u,
				  struct fault *fault) MUST_CHECK;
