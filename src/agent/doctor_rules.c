#include "agent/doctor.h"

#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>

#define LEAST_MAJOR 5
#define LEAST_MINOR 17

static struct finding finding_of(const char *name, enum finding_state state, const char *text,
				 const char *fix)
{
	struct finding f = {.name = name, .state = state};

	snprintf(f.text, sizeof(f.text), "%s", text);
	snprintf(f.fix, sizeof(f.fix), "%s", fix ? fix : "");
	return f;
}

/* The number a text begins with; -1 when it does not. */
static int64_t leading_number(struct str text)
{
	int64_t number;
	size_t n = 0;

	while (n < text.n && text.p[n] >= '0' && text.p[n] <= '9')
		n++;
	return str_to_i64(str_n(text.p, n), &number) == ERR_OK ? number : -1;
}

struct finding doctor_kernel(struct str release)
{
	int64_t major = leading_number(release);
	int64_t minor = leading_number(str_skip(release, str_find(release, '.') + 1));
	char text[100];

	snprintf(text, sizeof(text), "%.*s", (int)(release.n < 90 ? release.n : 90), release.p);
	if (major < 0 || minor < 0)
		return finding_of("kernel", FINDING_NOTE, text, NULL);
	if (major > LEAST_MAJOR || (major == LEAST_MAJOR && minor >= LEAST_MINOR))
		return finding_of("kernel", FINDING_OK, text, NULL);
	return finding_of(
		"kernel", FINDING_MISSING, text,
		"use Linux 5.17 or newer: older kernels lack features that the unwinder needs");
}

struct finding doctor_lockdown(struct str text)
{
	if (!text.n)
		return finding_of("lockdown", FINDING_OK, "this kernel has none", NULL);
	if (str_search(text, STR("[confidentiality]")) < text.n)
		return finding_of("lockdown", FINDING_MISSING,
				  "confidentiality: programs may not read the kernel's memory",
				  "boot with lockdown=integrity, or without lockdown=");
	if (str_search(text, STR("[integrity]")) < text.n)
		return finding_of("lockdown", FINDING_OK, "integrity, which does not disturb",
				  NULL);
	return finding_of("lockdown", FINDING_OK, "off", NULL);
}

struct finding doctor_paranoid(struct str text, bool perfmon)
{
	char line[160];
	int64_t level;

	if (str_to_i64(str_trim(text), &level) != ERR_OK)
		return finding_of("perf events", FINDING_MISSING, "this kernel has no perf events",
				  "use a kernel built with CONFIG_PERF_EVENTS");
	snprintf(line, sizeof(line), "perf_event_paranoid is %lld%s", (long long)level,
		 perfmon      ? ", which does not bind this user"
		 : level <= 2 ? ""
			      : ": closed to this user");
	if (perfmon || level <= 2)
		return finding_of("perf events", FINDING_OK, line, NULL);
	return finding_of("perf events", FINDING_MISSING, line,
			  "sudo sysctl kernel.perf_event_paranoid=2");
}

struct finding doctor_kallsyms(struct str lines)
{
	static const char fix[] = "run as root, or with CAP_SYSLOG; sysctl kernel.kptr_restrict "
				  "must not be 2";
	struct str line;

	if (!lines.n)
		return finding_of("kernel names", FINDING_MISSING, "/proc/kallsyms is not readable",
				  fix);
	while (str_split(&lines, '\n', &line)) {
		struct str address = str_n(line.p, str_find(line, ' '));

		for (size_t i = 0; i < address.n; i++)
			if (address.p[i] != '0')
				return finding_of("kernel names", FINDING_OK,
						  "/proc/kallsyms has addresses", NULL);
	}
	return finding_of("kernel names", FINDING_MISSING,
			  "/proc/kallsyms hides its addresses: kernel functions have no names",
			  fix);
}

struct finding doctor_capabilities(uint64_t mask)
{
	static const struct {
		unsigned number;
		const char *name;
	} wanted[] = {
		{CAP_BPF, "bpf"},
		{CAP_PERFMON, "perfmon"},
		{CAP_SYS_PTRACE, "sys_ptrace"},
		{CAP_DAC_READ_SEARCH, "dac_read_search"},
		{CAP_SYSLOG, "syslog"},
		{CAP_CHECKPOINT_RESTORE, "checkpoint_restore"},
	};
	struct finding f = {.name = "capabilities", .state = FINDING_OK};
	char missing[160] = "";

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		/* CAP_SYS_ADMIN includes CAP_BPF and CAP_PERFMON. */
		bool admin = mask >> CAP_SYS_ADMIN & 1 && i < 2;
		char *to = admin || mask >> wanted[i].number & 1 ? f.text : missing;
		size_t n = strlen(to);

		snprintf(to + n, 160 - n, "%s%s", n ? ", " : "", wanted[i].name);
	}
	if (!missing[0])
		return f;
	f.state = FINDING_MISSING;
	if (!f.text[0])
		snprintf(f.text, sizeof(f.text), "none of those that help");
	else
		snprintf(f.text + strlen(f.text), sizeof(f.text) - strlen(f.text), "; not %s",
			 missing);
	snprintf(f.fix, sizeof(f.fix),
		 "sudo vestal …, or: sudo setcap cap_bpf,cap_perfmon,cap_sys_ptrace,"
		 "cap_dac_read_search,cap_syslog,cap_checkpoint_restore=ep $(which vestal)");
	return f;
}
