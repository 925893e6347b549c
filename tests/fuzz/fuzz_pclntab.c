/*
 * Go's table: eight bytes that say where code and the data of functions begin, then the table,
 * which is also what lies at address 0x1000 of the program.
 */
#include <stdlib.h>

#include "symbols/byte_cursor.h"
#include "symbols/go_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct raw_frames raw;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct byte_cursor c = cursor_over(str_n(data, size));
	uint32_t text = cursor_u32(&c), function_data = cursor_u32(&c);
	struct str table = str_n(c.p, cursor_left(&c));
	struct elf_image image = {.bytes = table, .is64 = true};
	struct elf_segment all = {PT_LOAD, PF_R, 0, 0x1000, table.n, table.n};
	struct go_table t;

	if (c.bad || vec_push(&image.segments, all))
		return 0;
	go_table_read(&t, &image, table, 0x1000);
	if (t.version) {
		t.text = text;
		t.function_data = function_data;
		for (uint64_t i = 0; i < 400; i++) {
			uint64_t address = text + i * 3;

			go_table_lookup(&t, address, &raw);
			if (raw.n > SYMBOL_FRAMES_MAX ||
			    (raw.n && (address < raw.start || address >= raw.end)))
				abort();
		}
	}
	elf_image_release(&image);
	return 0;
}
