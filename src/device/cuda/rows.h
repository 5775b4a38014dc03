/*
 * device/cuda/rows.h
 *		Rows of a sorted job, one after the other.
 */
#ifndef GPUSORT_DEVICE_CUDA_ROWS_H
#define GPUSORT_DEVICE_CUDA_ROWS_H

#include "postgres.h"

#include "device/cuda/on_card.h"

/* The next row of the job where it is not the next one of the window, or NULL. */
extern MinimalTuple cuda_look_for_row(CudaCard *card, bool forward);

/* The next row of the job, forwards, or NULL. */
static inline MinimalTuple
cuda_next_row(CudaCard *card)
{
	MinimalTuple row = (MinimalTuple) card->at;

	if (unlikely(card->at >= card->at_end))
		return cuda_look_for_row(card, true);
	__builtin_prefetch(card->at + SORTER_ROWS_AHEAD);
	card->at += row_stored_size(row);
	card->position++;
	return row;
}

#endif /* GPUSORT_DEVICE_CUDA_ROWS_H */
