/*
 * The agent's metrics over HTTP, in the Prometheus text format, for local clients only.
 */
#pragma once

#include "agent/worker_host.h"
#include "agent/exporter.h"
#include "agent/losses.h"
#include "agent/self_meter.h"

struct self_facts {
	struct capture_stats capture;
	struct exporter_stats exporter;
	struct budget_measure measure;
	struct budget_limits limits;
	u64 pss_bytes;
	u64 user_ns, kernel_ns, interrupt_ns;
	struct worker_usage workers;
	double lost[LOSS_KERNEL_SIDE_CAUSES]; /* samples lost before their window, by cause */
	u64 collected;			      /* samples in finished windows */
	u32 rate_hz, wanted_hz;
	unsigned wait_level; /* of the processes that switch most */
	bool paused;
	enum budget_reason reason;
};

void self_metrics_put(const struct self_facts *f, struct buf *out);

struct self_metrics;

/* Listens on "127.0.0.1:9464", "[::1]:9464" or "unix:/path"; other addresses are refused. */
enum err self_metrics_new(const char *address, struct self_metrics **ret,
			  struct fault *fault) MUST_CHECK;
void self_metrics_free(struct self_metrics *m);
/* The listening address, with the port chosen by the kernel. */
const char *self_metrics_address(const struct self_metrics *m);
void self_metrics_set(struct self_metrics *m, const struct self_facts *f);
