#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/landlock.h"
#include "base/privilege.h"
#include "base/seccomp.h"
#include "base/str.h"
#include "test.h"

static char folder[64];

static int remove_one(const char *name, const struct stat *st, int kind, struct FTW *walk)
{
	(void)st, (void)kind, (void)walk;
	return remove(name);
}

/* What the tests before have left. */
static void remove_made(void)
{
	if (folder[0])
		nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static bool make_folder(void)
{
	static bool registered;

	if (!registered)
		registered = !atexit(remove_made);
	remove_made();
	snprintf(folder, sizeof(folder), "/tmp/vestal-privilege-XXXXXX");
	return mkdtemp(folder);
}

static const char *in_folder(const char *name)
{
	static char paths[4][128];
	static unsigned next;
	char *path = paths[next++ % 4];

	snprintf(path, 128, "%s/%s", folder, name);
	return path;
}

static bool write_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	return fd >= 0 && write(fd, "x", 1) == 1 && !close(fd);
}

static bool owner_is(const char *path, unsigned uid, unsigned mode)
{
	struct stat st;

	return !lstat(path, &st) && st.st_uid == uid && (!mode || (st.st_mode & 0777) == mode);
}

/* In a process of its own: what is given away does not come back. The result is its exit status. */
static int in_child(int (*run)(void))
{
	pid_t pid = fork();
	int status = 1;

	if (!pid)
		_exit(run());
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status)
									       : 255;
}

TEST(capabilities_have_names)
{
	char room[120];

	CHECK(!strcmp(privilege_names(0, room, sizeof(room)), "none"));
	CHECK(!strcmp(privilege_names(1ull << CAP_BPF | 1ull << CAP_SYSLOG, room, sizeof(room)),
		      "syslog, bpf"));
	CHECK(!strcmp(privilege_names((1ull << 41) - 1, room, sizeof(room)), "all"));
	CHECK(!strcmp(privilege_names(((1ull << 41) - 1) & ~(1ull << CAP_SYS_RESOURCE), room,
				      sizeof(room)),
		      "nearly all"));
	/* As much as there is room for. */
	CHECK(strlen(privilege_names(0xffffffff, room, 20)) < 20);
}

TEST(users_are_found_by_name_and_number)
{
	struct privilege_user u;
	struct fault fault = {0};

	CHECK_OK(privilege_find_user("root", "vestal", 7, &u, NULL));
	CHECK_INT(u.uid, 0);
	CHECK_OK(privilege_find_user("1234", "vestal", 7, &u, NULL));
	CHECK(u.uid == 1234 && u.gid == 1234 && !strcmp(u.name, "1234"));
	CHECK_OK(privilege_find_user(NULL, "no-such-user-here", 60590, &u, NULL));
	CHECK_INT(u.uid, 60590);
	CHECK_ERR(privilege_find_user("no-such-user-here", "vestal", 7, &u, &fault),
		  ERR_BAD_ARGUMENT);
	CHECK_ERR(privilege_find_user("-1", "vestal", 7, &u, &fault), ERR_BAD_ARGUMENT);
	CHECK_ERR(privilege_find_user("4294967295", "vestal", 7, &u, &fault), ERR_BAD_ARGUMENT);
}

/* ------------------------------------------------------------------ handing over */

static const struct privilege_user somebody = {4321, 4321, "somebody"};

TEST(what_is_roots_is_handed_over_and_closed_to_others)
{
	if (geteuid()) {
		test_skip("needs root");
		return;
	}
	CHECK(make_folder() && write_file(in_folder("a")) && !mkdir(in_folder("d"), 0755) &&
	      write_file(in_folder("d/b")) && !symlink("/etc/passwd", in_folder("link")));
	CHECK_OK(privilege_hand_over(folder, &somebody, NULL));
	CHECK(owner_is(folder, 4321, 0700) && owner_is(in_folder("a"), 4321, 0600) &&
	      owner_is(in_folder("d"), 4321, 0700) && owner_is(in_folder("d/b"), 4321, 0600));
	CHECK(owner_is(in_folder("link"), 0, 0) && owner_is("/etc/passwd", 0, 0644));
	/* Again, and by the next one of ours. */
	CHECK_OK(privilege_hand_over(folder, &somebody, NULL));
}

TEST(a_second_name_and_files_of_others_are_refused)
{
	struct fault fault = {0};

	if (geteuid()) {
		test_skip("needs root");
		return;
	}
	CHECK(make_folder() && write_file(in_folder("a")) &&
	      !link(in_folder("a"), in_folder("again")));
	CHECK_ERR(privilege_hand_over(folder, &somebody, &fault), ERR_NO_PERMISSION);
	CHECK(strstr(fault.text, "second name") && owner_is(in_folder("a"), 0, 0) &&
	      owner_is(folder, 0, 0));
	CHECK(!unlink(in_folder("again")) && !chown(in_folder("a"), 77, 77));
	CHECK_ERR(privilege_hand_over(folder, &somebody, &fault), ERR_NO_PERMISSION);
	CHECK(strstr(fault.text, "77"));
	CHECK(!unlink(in_folder("a")) && !symlink("/etc/passwd", in_folder("token")));
	CHECK(privilege_hand_over_file(in_folder("token"), &somebody, &fault) != ERR_OK);
	CHECK(owner_is("/etc/passwd", 0, 0644));
}

TEST(a_folder_is_known_by_what_is_in_it)
{
	static const char *const names[] = {"LOCK", "*.entry", NULL};

	CHECK(make_folder());
	CHECK(privilege_folder_has_only(folder, names));
	CHECK(write_file(in_folder("LOCK")) && write_file(in_folder("1.entry")));
	CHECK(privilege_folder_has_only(folder, names));
	CHECK(write_file(in_folder("letter")));
	CHECK(!privilege_folder_has_only(folder, names));
	CHECK(!privilege_folder_has_only("/no/such/folder", names));
}

/* ------------------------------------------------------------------ giving away */

static int become_somebody(void)
{
	if (privilege_become(&somebody, 1ull << CAP_SYSLOG, NULL) != ERR_OK)
		return 1;
	if (getuid() != 4321 || geteuid() != 4321 || getegid() != 4321 || getgroups(0, NULL))
		return 2;
	if (!privilege_has(1ull << CAP_SYSLOG) || privilege_has(1ull << CAP_SETUID))
		return 3;
	/* There is no way back, nor to anybody else. */
	if (!setuid(0) || !seteuid(0) || !setresuid(77, 77, 77))
		return 4;
	return access("/proc/self/fd", R_OK | X_OK) ? 5 : 0;
}

TEST(root_becomes_a_user_with_one_capability_and_never_root_again)
{
	if (geteuid() || !privilege_may_become(&somebody)) {
		test_skip("needs root");
		return;
	}
	CHECK_INT(in_child(become_somebody), 0);
}

static int with_landlock(void)
{
	struct landlock_path paths[] = {
		{folder, true}, {"/etc", false}, {"/no/such", true}, {NULL, false}};
	int fd;

	if (privilege_keep(0, NULL) != ERR_OK || landlock_only(paths, 4, NULL) != ERR_OK)
		return 1;
	if (!write_file(in_folder("own")) || unlink(in_folder("own")))
		return 2;
	fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 3;
	if (open("/etc/passwd", O_WRONLY | O_CLOEXEC) >= 0)
		return 4;
	if (open("/usr", O_RDONLY | O_CLOEXEC) >= 0 || !mkdir("/tmp/vestal-never", 0700))
		return 5;
	return 0;
}

TEST(landlock_leaves_only_what_is_named)
{
	if (syscall(SYS_landlock_create_ruleset, NULL, 0, 1) < 1) {
		test_skip("this kernel has no Landlock");
		return;
	}
	CHECK(make_folder());
	CHECK_INT(in_child(with_landlock), 0);
}

static int with_filter(void)
{
	static const unsigned denied[] = {SYS_getpid};
	static const uint32_t families[] = {AF_UNIX};
	struct seccomp_filter f;

	seccomp_begin(&f);
	seccomp_forbid_usual(&f);
	seccomp_list(&f, denied, 1, false);
	seccomp_by_flags(&f, SYS_openat, 2, O_WRONLY);
	seccomp_by_value(&f, SYS_socket, 0, families, 1);
	seccomp_hide(&f, SYS_getppid);
	if (privilege_keep(0, NULL) != ERR_OK || seccomp_install(&f, true, NULL) != ERR_OK)
		return 1;
	if (syscall(SYS_getpid) != -1 || errno != EPERM)
		return 2;
	if (syscall(SYS_getppid) != -1 || errno != ENOSYS)
		return 3;
	if (open("/dev/null", O_WRONLY) >= 0 || open("/dev/null", O_RDONLY) < 0)
		return 4;
	if (socket(AF_INET, SOCK_STREAM, 0) >= 0 || socket(AF_UNIX, SOCK_STREAM, 0) < 0)
		return 5;
	return execl("/bin/true", "true", NULL) == -1 && errno == EPERM ? 0 : 6;
}

TEST(a_filter_refuses_calls_flags_and_values)
{
	CHECK_INT(in_child(with_filter), 0);
}
