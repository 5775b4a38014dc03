/*
 * chunk_extract.h
 *		Taking a chunk apart on the device.
 *
 * A chunk's entries, and for variable keys its region too, have been copied to the device; what is written is
 * what the device library sorts and gathers: dense keys, and where each row begins.  Every entry is checked
 * (chunk_layout.h) before anything is read or written by what it says; if one is malformed *malformed becomes
 * 1, and the rest of the output means nothing.
 *
 * Chunks of a job may be taken apart at the same time.  A chunk writes where its rows end; where its first
 * row begins, the chunk before it writes, or has written.
 */
#ifndef GPUSORTD_CHUNK_EXTRACT_H
#define GPUSORTD_CHUNK_EXTRACT_H

#include "base/status.h"
#include "base/workspace.h"
#include "daemon/protocol/chunk_layout.h"

/* Where a chunk's rows go: behind those that came before. */
typedef struct ExtractTarget
{
	uint64_t rows_before;
	uint8_t *keys;			   /* fixed: of all rows; variable: bytes of all keys */
	uint64_t key_bytes_before; /* variable */
	uint64_t *key_offsets;	   /* variable: of all keys, and the end */
	uint8_t *rows;
	uint64_t row_bytes_before;
	uint64_t *row_offsets; /* of all rows, and the end */
	uint32_t *malformed;
} ExtractTarget;

/*
 * Fixed keys, whose rows are in place already: the region was copied to rows + row_bytes_before, where the
 * last row comes first.  So the chunk's rows are numbered from its last to its first, and offsets ascend.
 */
DevSortStatus extract_fixed_rows(const ChunkCopy *chunk, const ExtractTarget *target, cudaStream_t stream);

/* Where the keys and rows of a chunk with variable keys go, counted from the chunk's first. */
typedef struct ExtractPlan
{
	uint32_t *key_bytes; /* n + 1, and the sums of those before */
	uint32_t *key_sums;
	uint32_t *key_parts;
	uint32_t *part_sums;
	Workspace scan;
} ExtractPlan;

/* The memory of a plan for n rows. */
ExtractPlan extract_plan_take(Workspace *workspace, uint64_t n);

/*
 * Measures keys and rows.  Afterwards key_sums[n] and part_sums[n] are the bytes of all keys, and of all but
 * the rows.
 */
DevSortStatus extract_variable_plan(const ChunkCopy *chunk, const ExtractPlan *plan, uint32_t *malformed,
									cudaStream_t stream);

/* Copies them, of a chunk that was found well-formed. */
DevSortStatus extract_variable_copy(const ChunkCopy *chunk, const ExtractPlan *plan,
									const ExtractTarget *target, cudaStream_t stream);

#endif /* GPUSORTD_CHUNK_EXTRACT_H */
