#include "agent/doctor.h"

#include "test.h"

TEST(kernels_from_5_17_on_will_do)
{
	CHECK_INT(doctor_kernel(STR("6.18.5-generic")).state, FINDING_OK);
	CHECK_INT(doctor_kernel(STR("5.17.0")).state, FINDING_OK);
	CHECK_INT(doctor_kernel(STR("5.16.20")).state, FINDING_MISSING);
	CHECK(doctor_kernel(STR("4.18.0-553.el8")).fix[0]);
	CHECK_INT(doctor_kernel(STR("something else")).state, FINDING_NOTE);
	CHECK_INT(doctor_kernel(STR("")).state, FINDING_NOTE);
}

TEST(only_confidentiality_locks_us_out)
{
	CHECK_INT(doctor_lockdown(STR("")).state, FINDING_OK);
	CHECK_INT(doctor_lockdown(STR("[none] integrity confidentiality\n")).state, FINDING_OK);
	CHECK_INT(doctor_lockdown(STR("none [integrity] confidentiality\n")).state, FINDING_OK);
	CHECK_INT(doctor_lockdown(STR("none integrity [confidentiality]\n")).state,
		  FINDING_MISSING);
}

TEST(paranoia_above_two_closes_perf_events_to_users_without_a_capability)
{
	CHECK_INT(doctor_paranoid(STR("2\n"), false).state, FINDING_OK);
	CHECK_INT(doctor_paranoid(STR("-1\n"), false).state, FINDING_OK);
	CHECK_INT(doctor_paranoid(STR("3\n"), false).state, FINDING_MISSING);
	CHECK(strstr(doctor_paranoid(STR("4\n"), false).fix, "sysctl"));
	CHECK_INT(doctor_paranoid(STR("4\n"), true).state, FINDING_OK);
	CHECK_INT(doctor_paranoid(STR(""), true).state, FINDING_MISSING);
}

TEST(hidden_kernel_addresses_are_seen)
{
	CHECK_INT(
		doctor_kallsyms(STR("0000000000000000 A fixed\nffffffff81000000 T _text\n")).state,
		FINDING_OK);
	CHECK_INT(
		doctor_kallsyms(STR("0000000000000000 A fixed\n0000000000000000 T _text\n")).state,
		FINDING_MISSING);
	CHECK_INT(doctor_kallsyms(STR("")).state, FINDING_MISSING);
}

TEST(capabilities_that_are_missing_are_named)
{
	struct finding all = doctor_capabilities(UINT64_MAX), none = doctor_capabilities(0);
	struct finding admin = doctor_capabilities(1ull << 21),
		       bpf = doctor_capabilities(1ull << 39);

	CHECK_INT(all.state, FINDING_OK);
	CHECK(!all.fix[0]);
	CHECK_INT(none.state, FINDING_MISSING);
	CHECK(strstr(none.fix, "setcap"));
	CHECK(strstr(admin.text, "bpf, perfmon; not sys_ptrace"));
	CHECK(strstr(bpf.text, "bpf; not perfmon"));
}

TEST(one_missing_thing_is_not_well)
{
	CLEANUP(findings_release) struct findings f = {0};

	CHECK(findings_well(&f));
	CHECK_OK(finding_add(&f, "a", FINDING_OK, "fine", NULL));
	CHECK_OK(finding_add(&f, "b", FINDING_NOTE, "as it is", "could be better"));
	CHECK(findings_well(&f));
	CHECK_OK(finding_add(&f, "c", FINDING_MISSING, "not there", "do this"));
	CHECK(!findings_well(&f));
	CHECK_STR(str_of(f.list.v[2].fix), "do this");
}
