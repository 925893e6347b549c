/* What /proc and the environment tell of a process. */
#include <stdlib.h>
#include <unistd.h>

#include "agent/proc_maps.h"
#include "agent/process_facts.h"
#include "test.h"

#define ID  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID2 "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"

TEST(containers_and_units_are_found_in_every_dress)
{
	static const struct {
		const char *text, *container, *unit;
	} cases[] = {
		{"", "", ""},
		{"0::/\n", "", ""},
		{"0::/init.scope\n", "", ""},
		/* docker */
		{"0::/system.slice/docker-" ID ".scope\n", ID, ""},
		{"12:pids:/docker/" ID "\n1:name=systemd:/docker/" ID "\n", ID, ""},
		{"0::/docker/" ID "/docker/" ID2 "\n", ID2, ""},
		{"0::/system.slice/docker.service/docker/" ID "\n", ID, ""},
		/* containerd and crio below kubernetes */
		{"0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod1_2.slice/"
		 "cri-containerd-" ID ".scope\n",
		 ID, ""},
		{"11:memory:/kubepods/burstable/pod0-1-2/" ID "\n", ID, ""},
		{"0::/system.slice/containerd.service/kubepods-pod9.slice:cri-containerd:" ID "\n",
		 ID, ""},
		{"0::/kubepods.slice/crio-" ID ".scope\n", ID, ""},
		{"0::/kubepods.slice/crio-conmon-" ID ".scope\n", "", ""},
		/* podman */
		{"0::/machine.slice/libpod-" ID ".scope/container\n", ID, ""},
		{"0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID
		 ".scope/container\n",
		 ID, ""},
		{"0::/machine.slice/libpod-conmon-" ID ".scope\n", "", ""},
		/* systemd */
		{"0::/system.slice/nginx.service\n", "", "nginx"},
		{"0::/system.slice/system-postgresql.slice/postgresql@15-main.service\n", "",
		 "postgresql@15-main"},
		{"12:pids:/system.slice/cron.service\n0::/system.slice/cron.service\n", "", "cron"},
		{"3:cpu:/\n1:name=systemd:/system.slice/cron.service\n0::/\n", "", "cron"},
		{"0::/user.slice/user-1000.slice/user@1000.service/app.slice/app-x.scope\n", "",
		 ""},
		{"0::/user.slice/user-1000.slice/user@1000.service/app.slice/mine.service\n", "",
		 "mine"},
		{"0::/user.slice/user-0.slice/session-3.scope\n", "", ""},
		/* a unit inside a container; a hierarchy that does not know of it */
		{"0::/docker/" ID "/system.slice/web.service\n", ID, "web"},
		{"4:cpu:/docker/" ID "\n0::/system.slice/containerd.service\n", ID, ""},
		/* not an id */
		{"0::/docker/0123\n", "", ""},
		{"0::/docker/g" ID "\n", "", ""},
		{"no slash at all\n\n\n////\n", "", ""},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct str container, unit;

		cgroup_parse(str_of(cases[i].text), &container, &unit);
		CHECK_STR(container, cases[i].container);
		CHECK_STR(unit, cases[i].unit);
	}
}

TEST(attributes_are_found_by_their_whole_name)
{
	struct str list = STR(" a=1, service.version = 2.1 ,b,=x,service.name=a=b,b=2,");

	CHECK_STR(attribute_find(list, STR("service.version")), "2.1");
	CHECK_STR(attribute_find(list, STR("a")), "1");
	CHECK_STR(attribute_find(list, STR("b")), "2");
	CHECK_STR(attribute_find(list, STR("service.name")), "a=b");
	CHECK_STR(attribute_find(list, STR("service")), "");
	CHECK_STR(attribute_find(STR(""), STR("a")), "");
}

TEST(escapes_are_undone_but_for_commas)
{
	static const char *const cases[][2] = {
		{"a=b", "a=b"},
		{"a=x%20y", "a=x y"},
		{"a=%2C%2c", "a=%2C%2c"},
		{"a=%", "a=%"},
		{"a=%4", "a=%4"},
		{"a=%41", "a=A"},
		{"a=%zz%4g", "a=%zz%4g"},
		{"a=%00", "a=%00"},
		{"a=%+1", "a=%+1"},
		{"a=%C3%A9", "a=\xc3\xa9"},
		{"", ""},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[32];
		size_t n = strlen(cases[i][0]);

		memcpy(text, cases[i][0], n);
		CHECK_STR(str_n(text, attributes_unescape(text, n)), cases[i][1]);
	}
}

struct seen_maps {
	struct sideband_event events[16];
	char names[16][64];
	size_t n;
};

static enum err see(void *context, const struct sideband_event *e)
{
	struct seen_maps *s = context;

	if (s->n < 16) {
		s->events[s->n] = *e;
		snprintf(s->names[s->n++], 64, "%.*s", (int)e->name.n, e->name.p);
	}
	return ERR_OK;
}

TEST(executable_mappings_are_read_with_what_they_are)
{
	struct seen_maps s = {0};

	CHECK_OK(proc_maps_parse(
		STR("55d0a0000000-55d0a0001000 r--p 00000000 fe:01 1234      /usr/bin/x\n"
		    "55d0a0001000-55d0a0002000 r-xp 00001000 fe:01 1234      /usr/bin/x\n"
		    "7f0000000000-7f0000001000 r-xp 00002000 103:0a 99999999999 /tmp/a  b "
		    "(deleted)\n"
		    "7f0000002000-7f0000003000 rwxp 00000000 00:00 0 \n"
		    "7f0000003000-7f0000004000 r-xs 00000000 00:05 7       /memfd:x (deleted)\n"
		    "7ffd00000000-7ffd00002000 r-xp 00000000 00:00 0                  [vdso]\n"
		    "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0  [vsyscall]\n"
		    "7f0000005000-7f0000006000 rwxp 00000000 00:00 0"),
		&s, see));
	CHECK_INT(s.n, 6);
	CHECK(s.events[0].start == 0x55d0a0001000 && s.events[0].end == 0x55d0a0002000);
	CHECK(s.events[0].file_offset == 0x1000 && s.events[0].inode == 1234);
	CHECK(s.events[0].device_major == 0xfe && s.events[0].device_minor == 1);
	CHECK(s.events[1].device_major == 0x103 && s.events[1].device_minor == 10);
	CHECK_INT(s.events[1].inode, 99999999999);
	CHECK(!strcmp(s.names[1], "/tmp/a  b") && !strcmp(s.names[3], "/memfd:x"));
	CHECK(!s.names[2][0] && !s.names[5][0] && !strcmp(s.names[4], "[vdso]"));
}

TEST(lines_that_cannot_be_are_passed_over)
{
	struct seen_maps s = {0};

	CHECK_OK(proc_maps_parse(STR("\n \n-\nx\n1-2\n1-2 r\n1-2 r-xp\n1-2 r-xp 0\n1-2 r-xp 0 0\n"
				     "1-2 r-xp 0 0 0\n2-1 r-xp 0 0:0 0 /a\n1-1 r-xp 0 0:0 0 /a\n"
				     "1-2 rx 0 0:0 0 /a\ng-h r-xp 0 0:0 0 /a\n1-2 r-xp 0 0:0 z /a\n"
				     "1-11111111111111111 r-xp 0 0:0 0 /a\n1-2 r-xp 0 :0 0 /a\n"
				     "-1-2 r-xp 0 0:0 0 /a\n"),
				 &s, see));
	CHECK_INT(s.n, 0);
}

TEST(our_own_process_is_read)
{
	struct seen_maps s = {0};
	char comm[16] = "";

	CHECK_OK(proc_maps_read((u32)getpid(), &s, see));
	CHECK(s.n > 1);
	proc_comm_read((u32)getpid(), comm);
	CHECK(!strncmp(comm, getenv("VESTAL_VALGRIND") ? "memcheck" : "test_process_fa", 8));
	CHECK(proc_maps_read(0x7fffffff, &s, see) != ERR_OK);
}

TEST(facts_of_a_process_that_is_gone_are_what_is_known_otherwise)
{
	struct arena a = {0};
	struct process_facts f;

	CHECK_OK(
		process_facts_read(0x7fffffff, STR("short"), STR("/usr/bin/shorty"), NULL, &a, &f));
	CHECK_STR(f.service, "shorty");
	CHECK_STR(f.program, "/usr/bin/shorty");
	CHECK_OK(process_facts_read(0x7fffffff, STR("short"), STR(""), NULL, &a, &f));
	CHECK_STR(f.service, "short");
	CHECK_OK(process_facts_read(0x7fffffff, STR(""), STR(""), NULL, &a, &f));
	CHECK_STR(f.service, "unknown");
	arena_release(&a);
}

static enum err sweep(void)
{
	struct arena a = {0};
	struct process_facts f;
	enum err e = process_facts_read((u32)getpid(), STR("x"), STR("/bin/x"), NULL, &a, &f);

	arena_release(&a);
	return e;
}

TEST(no_memory_is_said)
{
	ALLOC_SWEEP(sweep());
}
