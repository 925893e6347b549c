#include "base/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Later than the headers of some systems. */
#ifndef LANDLOCK_ACCESS_FS_REFER
#define LANDLOCK_ACCESS_FS_REFER (1ULL << 13)
#endif
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif

#define READING_FILE (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE)
#define READING	     (READING_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define WRITING_FILE (LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE)
#define WRITING                                                                          \
	(WRITING_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE | \
	 LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR |                    \
	 LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |                    \
	 LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |                  \
	 LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_REFER)

static enum err failed(struct fault *fault, const char *what)
{
	return fault_set(fault, err_from_errno(errno),
			 "access to files cannot be restricted: %s: %s", what, strerror(errno));
}

/* What this kernel knows of; a newer one's additions are not used. */
static uint64_t handled_by(long abi)
{
	uint64_t all = READING | WRITING;

	if (abi < 2)
		all &= ~(uint64_t)LANDLOCK_ACCESS_FS_REFER;
	if (abi < 3)
		all &= ~(uint64_t)LANDLOCK_ACCESS_FS_TRUNCATE;
	return all;
}

static enum err allow(int rules, const struct landlock_path *p, uint64_t handled,
		      struct fault *fault)
{
	struct landlock_path_beneath_attr rule = {0};
	struct stat st;
	enum err e = ERR_OK;

	rule.parent_fd = p->path ? open(p->path, O_PATH | O_CLOEXEC) : -1;
	if (rule.parent_fd < 0)
		return ERR_OK;
	rule.allowed_access = READING | (p->write ? WRITING : 0);
	if (!fstat(rule.parent_fd, &st) && !S_ISDIR(st.st_mode))
		rule.allowed_access &= READING_FILE | WRITING_FILE;
	rule.allowed_access &= handled;
	if (syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0))
		e = failed(fault, p->path);
	close(rule.parent_fd);
	return e;
}

enum err landlock_only(const struct landlock_path *paths, unsigned n, struct fault *fault)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	struct landlock_ruleset_attr attr = {.handled_access_fs = abi > 0 ? handled_by(abi) : 0};
	enum err e = ERR_OK;
	int rules;

	if (abi < 1)
		return ERR_OK;
	rules = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
	if (rules < 0)
		return failed(fault, "no rules");
	for (unsigned i = 0; !e && i < n; i++)
		e = allow(rules, &paths[i], attr.handled_access_fs, fault);
	if (!e && syscall(SYS_landlock_restrict_self, rules, 0))
		e = failed(fault, "no_new_privs is not set");
	if (e)
		close(rules);
	return e;
}
