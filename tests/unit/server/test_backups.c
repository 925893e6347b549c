#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/backup_folder.h"
#include "server/tenant_counts.h"
#include "test.h"

static char data[64], place[64], path[160];

static int remove_one(const char *name, const struct stat *st, int kind, struct FTW *walk)
{
	(void)st, (void)kind, (void)walk;
	return remove(name);
}

/* What the tests before have left. */
static void remove_made(void)
{
	if (data[0])
		nftw(data, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	if (place[0])
		nftw(place, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static bool make_folders(void)
{
	static bool registered;

	if (!registered)
		registered = !atexit(remove_made);
	remove_made();
	snprintf(data, sizeof(data), "/tmp/vestal-backups-XXXXXX");
	snprintf(place, sizeof(place), "/tmp/vestal-place-XXXXXX");
	return mkdtemp(data) && mkdtemp(place);
}

static const char *in(const char *folder, const char *name)
{
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static enum err open_store(struct store **ret)
{
	struct store_options o = store_options_default;

	o.directory = data;
	return store_open(&o, ret, NULL);
}

static void backups_freep(struct backups **b)
{
	backups_free(*b);
}

static void store_closep(struct store **s)
{
	store_close(*s);
}

static void count(void *context, const struct backup_file *file)
{
	++*(int *)context;
	if (file->path[0] == '/' || strstr(file->path, ".."))
		*(int *)context = -1000;
}

static enum err new_sources(struct symbol_sources **ret)
{
	return symbol_sources_new(&(struct symbol_sources_options){.directory = data,
								   .max_file = 1 << 20,
								   .max_size = 1 << 20},
				  ret, NULL);
}

static void symbol_sources_freep(struct symbol_sources **d)
{
	symbol_sources_free(*d);
}

TEST(a_backup_is_sent_once_and_then_gone)
{
	CLEANUP(symbol_sources_freep) struct symbol_sources *sources = NULL;
	CLEANUP(store_closep) struct store *s = NULL;
	CLEANUP(backups_freep) struct backups *b = NULL;
	CLEANUP(buf_release) struct buf part = BUF_INIT(BACKUP_PART_MAX);
	char id[BACKUP_ID_SIZE], second[BACKUP_ID_SIZE];
	int files = 0;

	CHECK(make_folders());
	CHECK_OK(open_store(&s));
	CHECK_OK(new_sources(&sources));
	CHECK_OK(backups_new(data, NULL, &b, NULL));
	CHECK_OK(backups_begin(b, s, sources, NULL, id, NULL));
	CHECK_ERR(backups_begin(b, s, sources, NULL, second, NULL), ERR_BUSY);
	CHECK_OK(backups_files(b, str_of(id), count, &files, NULL));
	CHECK(files > 0);
	CHECK_OK(backups_read(b, str_of(id), 0, 0, &part, NULL));
	CHECK(part.n > 0);
	buf_clear(&part);
	CHECK_OK(backups_read(b, str_of(id), 0, 1 << 30, &part, NULL));
	CHECK_INT(part.n, 0);
	CHECK_ERR(backups_read(b, str_of(id), (uint64_t)files, 0, &part, NULL), ERR_BAD_ARGUMENT);
	CHECK_ERR(backups_read(b, str_of(id), 0, UINT64_MAX, &part, NULL), ERR_BAD_ARGUMENT);
	CHECK_ERR(backups_read(b, STR(""), 0, 0, &part, NULL), ERR_NOT_FOUND);
	CHECK_OK(backups_end(b, str_of(id), NULL));
	CHECK_ERR(backups_end(b, str_of(id), NULL), ERR_NOT_FOUND);
	CHECK_OK(backups_begin(b, s, sources, NULL, id, NULL));
}

TEST(a_backup_is_written_under_a_plain_name_or_not_at_all)
{
	static const char *const bad[] = {"", ".", "..", ".x", "a/b", "/x", "a b", "\xff"};
	CLEANUP(symbol_sources_freep) struct symbol_sources *sources = NULL;
	CLEANUP(store_closep) struct store *s = NULL;
	CLEANUP(backups_freep) struct backups *b = NULL, *none = NULL;
	struct stat st;
	uint64_t bytes = 0;

	CHECK(make_folders());
	CHECK_OK(open_store(&s));
	CHECK_OK(new_sources(&sources));
	CHECK_OK(backups_new(data, place, &b, NULL));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_ERR(backups_write(b, s, sources, str_of(bad[i]), NULL, &bytes, NULL),
			  ERR_BAD_ARGUMENT);
	CHECK_OK(backups_write(b, s, sources, STR("monday"), NULL, &bytes, NULL));
	CHECK(bytes > 0 && !stat(in(place, "monday"), &st) && (st.st_mode & 0777) == 0700);
	CHECK_ERR(backups_write(b, s, sources, STR("monday"), NULL, &bytes, NULL), ERR_EXISTS);
	CHECK(!symlink("/tmp", in(place, "link")));
	CHECK_ERR(backups_write(b, s, sources, STR("link"), NULL, &bytes, NULL), ERR_EXISTS);
	CHECK_OK(backups_new(data, NULL, &none, NULL));
	CHECK_ERR(backups_write(none, s, sources, STR("x"), NULL, &bytes, NULL), ERR_UNSUPPORTED);
}

TEST(a_backup_that_fails_leaves_nothing)
{
	CLEANUP(symbol_sources_freep) struct symbol_sources *sources = NULL;
	CLEANUP(store_closep) struct store *s = NULL;
	CLEANUP(backups_freep) struct backups *b = NULL;
	struct store_options memory = store_options_default;
	uint64_t bytes;

	CHECK(make_folders());
	CHECK_OK(store_open(&memory, &s, NULL));
	CHECK_OK(new_sources(&sources));
	CHECK_OK(backups_new(data, place, &b, NULL));
	CHECK_ERR(backups_write(b, s, sources, STR("monday"), NULL, &bytes, NULL), ERR_UNSUPPORTED);
	CHECK(access(in(place, "monday"), F_OK));
	CHECK(!rmdir(place));
}

TEST(what_a_killed_server_left_is_removed)
{
	struct backups *b;

	CHECK(make_folders());
	CHECK(!mkdir(in(data, ".backup-1"), 0700) &&
	      !mkdir(in(data, ".backup-1/anonymous"), 0700) &&
	      !symlink(place, in(data, ".backup-1/link")));
	CHECK_OK(backups_new(data, NULL, &b, NULL));
	backups_free(b);
	CHECK(access(in(data, ".backup-1"), F_OK) && !access(place, F_OK));
}

static enum err open_and_close(void)
{
	struct backups *b;

	TRY(backups_new(data, place, &b, NULL));
	backups_free(b);
	return ERR_OK;
}

TEST(backups_survive_a_lack_of_memory)
{
	CHECK(make_folders());
	ALLOC_SWEEP(open_and_close());
}

/* ------------------------------------------------------------------ numbers of a tenant */

TEST(tenants_are_counted_apart)
{
	struct tenant_counts *c;
	struct tenant_numbers n;

	CHECK_OK(tenant_counts_new(&c));
	tenant_counts_add(c, STR("one"), &(struct tenant_numbers){.uploads = 2, .samples = 5});
	tenant_counts_add(c, STR("two"), &(struct tenant_numbers){.uploads = 1});
	tenant_counts_add(c, STR("one"), &(struct tenant_numbers){.uploads = 1});
	tenant_counts_failed(c, STR("one"), ERR_CORRUPT);
	/* Before it is known who asks. */
	tenant_counts_failed(c, STR(""), ERR_UNAUTHENTICATED);
	tenant_counts_get(c, STR("one"), &n);
	CHECK(n.uploads == 3 && n.samples == 5 && n.failures[ERR_CORRUPT] == 1);
	tenant_counts_get(c, STR("two"), &n);
	CHECK(n.uploads == 1 && !n.failures[ERR_CORRUPT]);
	tenant_counts_get(c, STR("three"), &n);
	CHECK(!n.uploads);
	tenant_counts_free(c);
}

/* What finds no memory is not counted, and that is all. */
static enum err count_some(void)
{
	struct tenant_counts *c;

	TRY(tenant_counts_new(&c));
	tenant_counts_add(c, STR("one"), &(struct tenant_numbers){.uploads = 1});
	tenant_counts_free(c);
	return ERR_OK;
}

TEST(counts_survive_a_lack_of_memory)
{
	ALLOC_SWEEP(count_some());
}
