/*
 * segment_pieces.cuh
 *		Segments of an array cut into pieces that one block works on: the tiles of the sample sort, the
 *		sublists of the bucket sort.
 *
 * How long the segments are is known on the device only, so kernels are launched for as many pieces as there
 * can be at most, and a block without a piece returns.
 */
#ifndef DEVSORT_SEGMENT_PIECES_CUH
#define DEVSORT_SEGMENT_PIECES_CUH

#include "base/status.h"
#include "primitives/block_scan.cuh"

struct Piece
{
	uint32_t start;
	uint32_t count; /* at least 1 */
	uint32_t segment;
	uint32_t number; /* in its segment, from 0 */
};

/* In device memory. */
struct Pieces
{
	/* of the segments, nsegments + 1; NULL: there is one, of n rows, and no array is used */
	const uint32_t *starts;
	uint32_t nsegments;
	uint32_t n;
	uint32_t size;	  /* of a full piece */
	uint32_t limit;	  /* most pieces that there can be: pieces_limit() */
	Piece *pieces;	  /* limit */
	uint32_t *firsts; /* nsegments + 1: each segment's first piece; the last is how many there are */
};

static inline uint32_t
pieces_limit(uint64_t n, uint32_t nsegments, uint32_t size)
{
	return (uint32_t) (n / size) + nsegments;
}

/* Has this block a piece? */
static __device__ __forceinline__ bool
block_piece(const Pieces &pieces, Piece *piece)
{
	uint32_t start = blockIdx.x * pieces.size;

	if (pieces.starts == NULL)
	{
		*piece = {start, start < pieces.n ? min(pieces.size, pieces.n - start) : 0, 0, blockIdx.x};
		return piece->count > 0;
	}
	if (blockIdx.x >= pieces.firsts[pieces.nsegments])
		return false;
	*piece = pieces.pieces[blockIdx.x];
	return true;
}

/* Numbers the pieces; one block. */
static __global__ void
number_pieces_kernel(Pieces pieces)
{
	__shared__ uint32_t warp_sums[WARP_SIZE + 1];
	uint32_t before = 0;
	uint32_t total;

	for (uint32_t from = 0; from < pieces.nsegments; from += blockDim.x)
	{
		uint32_t segment = from + threadIdx.x;
		uint32_t count = 0;

		if (segment < pieces.nsegments)
			count = (pieces.starts[segment + 1] - pieces.starts[segment] + pieces.size - 1) / pieces.size;
		count = block_exclusive_sum(count, warp_sums, &total);
		if (segment < pieces.nsegments)
			pieces.firsts[segment] = before + count;
		before += total;
		__syncthreads();
	}
	if (threadIdx.x == 0)
		pieces.firsts[pieces.nsegments] = before;
}

/* Cuts one segment; blockIdx.y numbers the segments, the blocks of a row share one. */
static __global__ void
cut_segment_kernel(Pieces pieces)
{
	uint32_t segment = blockIdx.y;
	uint32_t start = pieces.starts[segment];
	uint32_t end = pieces.starts[segment + 1];
	uint32_t first = pieces.firsts[segment];
	uint32_t count = pieces.firsts[segment + 1] - first;

	for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
	{
		uint32_t from = start + i * pieces.size;
		Piece piece = {from, min(pieces.size, end - from), segment, i};

		pieces.pieces[first + i] = piece;
	}
}

/* Fills in firsts and pieces from starts.  Up to 65535 segments. */
static inline DevSortStatus
cut_segments(const Pieces *pieces, cudaStream_t stream)
{
	const unsigned cutters = 1024;
	dim3 grid(pieces->nsegments < cutters ? cutters / pieces->nsegments : 1, pieces->nsegments);

	number_pieces_kernel<<<1, 1024, 0, stream>>>(*pieces);
	CHECK_LAUNCH("numbering pieces");
	cut_segment_kernel<<<grid, 256, 0, stream>>>(*pieces);
	CHECK_LAUNCH("cutting segments");
	return status_ok();
}

#endif /* DEVSORT_SEGMENT_PIECES_CUH */
