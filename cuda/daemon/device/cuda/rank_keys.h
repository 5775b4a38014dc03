/*
 * rank_keys.h
 *		Ranks in the place of codes in keys on the device.
 */
#ifndef GPUSORTD_RANK_KEYS_H
#define GPUSORTD_RANK_KEYS_H

#include "base/status.h"
#include "daemon/protocol/rank_layout.h"

/*
 * Replaces the codes of n dense keys by ranks.  *without_rank becomes 1 if a code has none; the keys mean
 * nothing then.
 */
DevSortStatus rank_keys(uint8_t *keys, uint64_t n, uint32_t key_bytes, const RankColumns *columns,
						const uint32_t *ranks, uint32_t *without_rank, cudaStream_t stream);

#endif /* GPUSORTD_RANK_KEYS_H */
