#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "symbols/symbol_store_parts.h"

enum err symbol_store_begin(struct symbol_store *s, int *ret_fd, char *path, size_t path_size,
			    struct fault *fault)
{
	uint64_t number;
	int fd;

	mutex_lock(&s->lock);
	number = ++s->begun;
	mutex_unlock(&s->lock);
	if ((size_t)snprintf(path, path_size, "%s/%llu.incoming", s->folder,
			     (unsigned long long)number) >= path_size)
		return fault_set(fault, ERR_TOO_LARGE, "%.100s: too long a path", s->folder);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return fault_set(fault, err_from_errno(errno), "%.200s: %s", path, strerror(errno));
	*ret_fd = fd;
	return ERR_OK;
}

enum err symbol_facts_check(const struct symbol_facts *facts, struct fault *fault)
{
	if (facts->type == ET_CORE)
		return fault_set(fault, ERR_UNSUPPORTED,
				 "it is the memory of a crashed program (a core file), not the "
				 "program");
	if (facts->type == ET_NONE)
		return fault_set(fault, ERR_UNSUPPORTED, "it is neither a program nor a library");
	if (facts->build_id.n < 2 || facts->build_id.n > BUILD_ID_MAX)
		return fault_set(fault, ERR_UNPROCESSABLE,
				 "it has no build id by which profiles could name it: link it with "
				 "-Wl,--build-id");
	if (!facts->symtab && !facts->dwarf && !facts->go_table && !facts->mini_debuginfo &&
	    !facts->dynsym)
		return fault_set(fault, ERR_UNPROCESSABLE,
				 "there are no names in it: it was stripped");
	return ERR_OK;
}

static enum err check_size(const struct symbol_store *s, int fd, struct symbol_item *ret,
			   struct fault *fault)
{
	struct stat info;

	if (fstat(fd, &info))
		return fault_set(fault, err_from_errno(errno), "it cannot be read");
	ret->size = (uint64_t)info.st_size;
	if (s->options.max_file && ret->size > s->options.max_file)
		return fault_set(fault, ERR_TOO_LARGE,
				 "it has %llu MiB, files of up to %llu MiB are taken",
				 (unsigned long long)(ret->size >> 20),
				 (unsigned long long)(s->options.max_file >> 20));
	return ERR_OK;
}

static enum err look_through(const struct symbol_store *s, int fd, struct str wanted,
			     struct symbol_item *ret, struct fault *fault)
{
	struct symbol_options o = {.alone = true, .memory = (size_t)16 << 20};
	struct symbol_file *file;
	struct symbol_facts facts;
	enum err error;

	TRY(check_size(s, fd, ret, fault));
	TRY(symbol_file_new(fd, "the file", &o, &file, fault));
	error = symbol_file_facts(file, &facts);
	if (!error)
		error = symbol_facts_check(&facts, fault);
	if (!error) {
		build_id_text(facts.build_id, ret->build_id);
		ret->debug = !facts.code;
		ret->kept_s = time(NULL);
	}
	symbol_file_free(file);
	if (!error && wanted.n && !str_eq(wanted, str_of(ret->build_id)))
		return fault_set(fault, ERR_CORRUPT, "it has another build id, %s", ret->build_id);
	return error;
}

static bool fits(const struct symbol_store *s, uint64_t more)
{
	return !s->options.max_size ||
	       (more <= s->options.max_size && s->bytes <= s->options.max_size - more);
}

static void drop_oldest(struct symbol_store *s)
{
	size_t oldest = 0;

	for (size_t i = 1; i < s->items.n; i++)
		if (s->items.v[i].used < s->items.v[oldest].used)
			oldest = i;
	symbol_store_drop(s, oldest);
}

static enum err make_room(struct symbol_store *s, uint64_t more, struct fault *fault)
{
	while (s->options.drops && s->items.n && !fits(s, more))
		drop_oldest(s);
	if (fits(s, more))
		return ERR_OK;
	return fault_set(fault, ERR_TOO_LARGE,
			 "all symbol files together may take %llu MiB: delete some, or raise the "
			 "limit",
			 (unsigned long long)(s->options.max_size >> 20));
}

/* With the lock held. */
static enum err put_away(struct symbol_store *s, int fd, const char *from,
			 const struct symbol_item *item, struct fault *fault)
{
	char path[SHELF_PATH_MAX];
	bool there;
	size_t at = symbol_store_find(s, item->build_id, item->debug, &there);
	uint64_t before = there ? s->items.v[at].item.size : 0;

	TRY(make_room(s, item->size > before ? item->size - before : 0, fault));
	TRY(symbol_store_path(s, item->build_id, item->debug, path));
	at = symbol_store_find(s, item->build_id, item->debug, &there);
	if (!there)
		TRY(vec_reserve(&s->items, 1));
	if (fchmod(fd, 0400) || fsync(fd) || rename(from, path))
		return fault_set(fault, err_from_errno(errno), "%.200s: %s", path, strerror(errno));
	symbol_store_forget_answers(s, item->build_id);
	if (there) {
		s->bytes -= s->items.v[at].item.size;
	} else {
		memmove(s->items.v + at + 1, s->items.v + at,
			(s->items.n - at) * sizeof(*s->items.v));
		s->items.n++;
	}
	s->items.v[at] = (struct shelved){*item, ++s->uses};
	s->bytes += item->size;
	s->changes++;
	return ERR_OK;
}

enum err symbol_store_take(struct symbol_store *s, int fd, const char *path, struct str wanted,
			   struct symbol_item *ret, struct fault *fault)
{
	struct symbol_item item = {0};
	enum err error = look_through(s, fd, wanted, &item, fault);

	if (!error) {
		mutex_lock(&s->lock);
		error = put_away(s, fd, path, &item, fault);
		mutex_unlock(&s->lock);
	}
	if (error)
		unlink(path);
	else
		*ret = item;
	return error;
}
