/*
 * A SQLite VFS between SQLite and the real one that makes disks fail: the n-th write or sync ends
 * with ENOSPC, EIO or half of it done; or the power goes and what was not synced is lost.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum disk_fault { DISK_FINE, DISK_FULL, DISK_BROKEN, DISK_SHORT };

/* Becomes the default of connections opened from now on. Once per program. */
void fault_vfs_install(void);
/* After `after` more writes and syncs, one fails, or with `persist` all do until the next call. */
void fault_vfs_fail(enum disk_fault fault, long after, bool persist);
/* Whether it came to that. */
bool fault_vfs_reached(void);

/* From here on remembers what was written and not synced. */
void fault_vfs_record(void);
/* After so many more writes and syncs the power goes: nothing works any more. */
void fault_vfs_cut_power(long after);
bool fault_vfs_power_is_off(void);
/* Simulates a power cut. Of the unsynced writes a file keeps all, none, a prefix, a prefix and half
 * of the next one, or some and not the ones before them. All connections are closed. */
void fault_vfs_restore(uint32_t random);
/* Simulates a killed process: all writes are kept. */
void fault_vfs_revive(void);
