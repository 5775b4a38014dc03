/*
 * load.h
 *		What a round of the string sort loads, and what it need not look at.
 */
#ifndef DEVSORT_STRING_LOAD_H
#define DEVSORT_STRING_LOAD_H

#include "segments/rounds.h"
#include "strings/survey.h"

/*
 * Loads as keys the segment and below it, in piece_bits bits, the codes of the next characters, from the
 * depth of the segment on; for strings of one character, for which one round is enough, what remains of them.
 * In the first round all begin at first_depth, which becomes the first segment's depth.
 */
DevSortStatus string_load_coded(const RoundRows *input, const StringText *text, const StringCodes *codes,
								uint32_t *depths, uint32_t first_depth, int piece_bits, cudaStream_t stream);

/*
 * The same in the first round by codes in device memory, from the strings' beginnings on; nothing unless
 * survey->tells_all there.
 */
DevSortStatus string_load_surveyed(const RoundRows *input, const StringText *text, const StringSurvey *survey,
								   const StringCodes *codes, uint32_t *depths, cudaStream_t stream);

/*
 * Moves each segment's depth behind what its strings have in common, by at most `limit` bytes: from depths to
 * moved.  Every segment has two rows or more.  Not in the first round.
 */
DevSortStatus string_skip_common(const RoundRows *input, const StringText *text, uint64_t segments,
								 const uint32_t *depths, uint32_t *moved, uint32_t limit,
								 cudaStream_t stream);

#endif /* DEVSORT_STRING_LOAD_H */
