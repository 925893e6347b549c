/*
 * The readers and writers behind the table of formats. Private to src/format.
 */
#pragma once

#include "format/format.h"

int pprof_sniff(struct str head);
void *pprof_prepare(struct str bytes, const struct dict *d, const struct limits *limits);
enum err pprof_read_prepared(void *prepared, struct reading *out) MUST_CHECK;
void pprof_release_prepared(void *prepared);
bool is_packed(struct str bytes); /* gzip or zstd, by magic */
enum err pprof_read(struct str bytes, struct reading *out);

int otlp_sniff(struct str head);
enum err otlp_read(struct str bytes, struct reading *out);

int otlp_json_sniff(struct str head);
enum err otlp_json_read(struct str bytes, struct reading *out);
enum err otlp_json_write(struct writing *in, struct buf *out);

int folded_sniff(struct str head);
enum err folded_read(struct str bytes, struct reading *out);
enum err folded_write(struct writing *in, struct buf *out);
/* Whether every line with a stack ends in two numbers: then it is read as two columns. */
bool folded_has_two_columns(struct str bytes);

int speedscope_sniff(struct str head);
enum err speedscope_read(struct str bytes, struct reading *out);
enum err speedscope_write(struct writing *in, struct buf *out);

int jfr_sniff(struct str head);
enum err jfr_read(struct str bytes, struct reading *out);

int perf_script_sniff(struct str head);
enum err perf_script_read(struct str bytes, struct reading *out);

int perf_data_sniff(struct str head);
enum err perf_data_read(struct str bytes, struct reading *out);

int cpuprofile_sniff(struct str head);
enum err cpuprofile_read(struct str bytes, struct reading *out);

int heapprofile_sniff(struct str head);
enum err heapprofile_read(struct str bytes, struct reading *out);

int legacy_sniff(struct str head);
enum err legacy_read(struct str bytes, struct reading *out);

enum err html_write(struct writing *in, struct buf *out);
enum err svg_write(struct writing *in, struct buf *out);
enum err pgo_write(struct writing *in, struct buf *out);
enum err autofdo_write(struct writing *in, struct buf *out);
