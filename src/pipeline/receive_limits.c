#include "pipeline/receive.h"

#define NAME(literal)                        \
	{                                    \
		literal, sizeof(literal) - 1 \
	}

/* Sample labels that say where and in which version a program runs: a few values each. */
static const struct str series_labels[] = {
	NAME("service_repository"),
	NAME("service_git_ref"),
	NAME("service_root_path"),
	NAME("service.version"),
	NAME("deployment.environment"),
	NAME("deployment.environment.name"),
	NAME("version"),
	NAME("commit"),
	NAME("env"),
	NAME("environment"),
	NAME("region"),
	NAME("cluster"),
	NAME("namespace"),
	NAME("pod"),
	NAME("host"),
	NAME("hostname"),
	NAME("instance"),
};

const struct receive_limits receive_limits_default = {
	.format = {.max_bytes = (size_t)64 << 20,
		   .max_ratio = 2000,
		   .max_depth = 16384,
		   .max_nesting = 128,
		   .max_string = 1 << 20,
		   .max_samples = 10000000,
		   .max_entries = 10000000},
	.max_labels = 30,
	.max_label_name = 1024,
	.max_label_value = 2048,
	.series_labels = series_labels,
	.series_label_count = sizeof(series_labels) / sizeof(series_labels[0]),
};

void received_release(struct received *r)
{
	notes_release(&r->notes);
}
