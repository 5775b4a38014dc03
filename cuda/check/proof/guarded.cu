/*
 * guarded.cu
 *		Device buffers with guard zones around them.
 */
#include "check/proof/guarded.h"

#define GUARD_BYTES 4096
#define PIECE_ALIGNMENT 256
#define THREADS 256
#define FILL_BLOCKS 2048

typedef struct Zones
{
	uint64_t begins[GUARDED_MAX_PIECES + 1];
	uint64_t ends[GUARDED_MAX_PIECES + 1];
} Zones;

/* Eight bytes of the pattern. */
static __device__ uint64_t
pattern_word(uint64_t salt, uint64_t word)
{
	uint64_t x = (word + salt) * UINT64_C(0x9E3779B97F4A7C15);

	return (x ^ (x >> 29)) * UINT64_C(0xBF58476D1CE4E5B9);
}

static __global__ void
pattern_fill_kernel(uint64_t *memory, uint64_t nwords, uint64_t salt)
{
	uint64_t step = (uint64_t) gridDim.x * THREADS;

	for (uint64_t i = (uint64_t) blockIdx.x * THREADS + threadIdx.x; i < nwords; i += step)
		memory[i] = pattern_word(salt, i);
}

/* A block a zone. */
static __global__ void
pattern_check_kernel(const uint8_t *memory, Zones zones, uint64_t salt, uint32_t *damages)
{
	for (uint64_t i = zones.begins[blockIdx.x] + threadIdx.x; i < zones.ends[blockIdx.x]; i += THREADS)
	{
		if (memory[i] != (uint8_t) (pattern_word(salt, i / 8) >> (i % 8 * 8)))
			atomicOr(&damages[blockIdx.x], 1u);
	}
}

static size_t
align_up(size_t bytes)
{
	return (bytes + PIECE_ALIGNMENT - 1) / PIECE_ALIGNMENT * PIECE_ALIGNMENT;
}

void
guarded_reset(Guarded *guarded, uint64_t salt)
{
	guarded->used = 0;
	guarded->npieces = 0;
	guarded->salt = salt;
}

int
guarded_add(Guarded *guarded, size_t bytes)
{
	int piece = guarded->npieces++;
	size_t off_alignment = 16 * (1 + piece * 7 % 15);

	guarded->begins[piece] = align_up(guarded->used + GUARD_BYTES) + off_alignment;
	guarded->ends[piece] = guarded->begins[piece] + bytes;
	guarded->used = guarded->ends[piece];
	return piece;
}

/* A larger allocation. */
static bool
grow_memory(Guarded *guarded, size_t bytes, Why *why)
{
	guarded_release(guarded);
	if (!why_cuda(why, cudaMalloc(&guarded->memory, bytes), "allocating the buffers of a check") ||
		!why_cuda(why, cudaMalloc(&guarded->damages, sizeof(uint32_t) * (GUARDED_MAX_PIECES + 1)),
				  "allocating flags"))
	{
		guarded_release(guarded);
		return false;
	}
	guarded->memory_bytes = bytes;
	return true;
}

bool
guarded_open(Guarded *guarded, Why *why)
{
	size_t bytes = align_up(guarded->used + GUARD_BYTES);

	if (bytes > guarded->memory_bytes && !grow_memory(guarded, bytes, why))
		return false;
	guarded->used = bytes;
	pattern_fill_kernel<<<FILL_BLOCKS, THREADS, 0, guarded->stream>>>((uint64_t *) guarded->memory, bytes / 8,
																	  guarded->salt);
	return why_cuda(why, cudaGetLastError(), "filling with garbage");
}

void *
guarded_piece(const Guarded *guarded, int piece)
{
	return guarded->memory + guarded->begins[piece];
}

bool
guarded_intact(Guarded *guarded, Why *why)
{
	int nzones = guarded->npieces + 1;
	Zones zones = {};
	uint32_t damages[GUARDED_MAX_PIECES + 1] = {};

	for (int zone = 0; zone < nzones; zone++)
	{
		zones.begins[zone] = zone == 0 ? 0 : guarded->ends[zone - 1];
		zones.ends[zone] = zone == guarded->npieces ? guarded->used : guarded->begins[zone];
	}
	if (!why_cuda(why, cudaMemsetAsync(guarded->damages, 0, sizeof(damages), guarded->stream),
				  "clearing flags"))
		return false;
	pattern_check_kernel<<<nzones, THREADS, 0, guarded->stream>>>((const uint8_t *) guarded->memory, zones,
																  guarded->salt, guarded->damages);
	if (!why_cuda(why, cudaGetLastError(), "checking guard zones") ||
		!why_cuda(why,
				  cudaMemcpyAsync(damages, guarded->damages, sizeof(damages), cudaMemcpyDeviceToHost,
								  guarded->stream),
				  "reading flags") ||
		!why_cuda(why, cudaStreamSynchronize(guarded->stream), "waiting for the sort"))
		return false;
	for (int zone = 0; zone < nzones; zone++)
	{
		if (damages[zone])
			return why_say(why, "written outside of the buffers: before buffer %d of %d", zone,
						   guarded->npieces);
	}
	return true;
}

void
guarded_release(Guarded *guarded)
{
	(void) cudaFree(guarded->memory);
	(void) cudaFree(guarded->damages);
	guarded->memory = NULL;
	guarded->damages = NULL;
	guarded->memory_bytes = 0;
}
