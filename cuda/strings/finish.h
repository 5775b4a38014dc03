/*
 * finish.h
 *		Segments of few strings, sorted at once.
 */
#ifndef DEVSORT_STRING_FINISH_H
#define DEVSORT_STRING_FINISH_H

#include "segments/rounds.h"
#include "strings/codes.h"

/* Segments up to this size are finished by small blocks: a block waits for its slowest segment. */
#define FINISH_TINY 32
#define FINISH_TINY_THREADS 256

/*
 * Those up to this size by large ones.  Larger segments are not finished: ranking a string costs as much as
 * its segment is large.
 */
#define FINISH_LARGEST 384
#define FINISH_THREADS 1024

/* If no more rows than these are left, rounds cost more than ranking. */
#define FINISH_FEW_ROWS (UINT64_C(1) << 18)
#define FINISH_LARGEST_OF_FEW 768

/* If segments have more rows than these on average, few are small. */
#define FINISH_MEAN_SIZE 2048

/*
 * Between rounds, with rows left: sorts the strings of every small segment that end soon enough, writes them
 * to their places and takes them out.  *finished has segment_rounds_words(n) words.  Waits for the stream.
 */
DevSortStatus string_finish(SegmentRounds *rounds, const StringText *text, const StringCodes *codes,
							uint32_t *finished, cudaStream_t stream);

#endif /* DEVSORT_STRING_FINISH_H */
