/*
 * protocol.h
 *		The messages between gpusortd and its clients; docs/protocol.md describes the protocol.
 *
 * A message is a GpusortdHeader and then the struct of its type, of exactly the length that the header says.
 * Numbers are in the byte order of the machine: both ends are on the same one.  C11 and C++17.
 */
#ifndef GPUSORTD_PROTOCOL_H
#define GPUSORTD_PROTOCOL_H

#include <assert.h>
#include <stdint.h>

#define GPUSORTD_MAGIC UINT32_C(0x44535047) /* "GPSD" */
#define GPUSORTD_VERSION 7

#define GPUSORTD_MAX_DEVICES 16
#define GPUSORTD_MAX_CHUNKS 64
#define GPUSORTD_MAX_CHUNK_BYTES (UINT64_C(1) << 30)
#define GPUSORTD_MAX_RANK_COLUMNS 8 /* of one job */
#define GPUSORTD_MAX_MESSAGE 4096	/* bytes of any message, including the header */

typedef struct GpusortdHeader
{
	uint32_t magic;
	uint16_t version;
	uint16_t type;
	uint32_t length;   /* bytes that follow */
	uint32_t reserved; /* 0 */
} GpusortdHeader;

typedef enum GpusortdType
{
	/* from the client */
	GPUSORTD_HELLO = 1,
	GPUSORTD_BEGIN,
	GPUSORTD_JOIN,
	GPUSORTD_SUBMIT,
	GPUSORTD_PERFORM,
	GPUSORTD_FETCH,
	GPUSORTD_RANKS,
	GPUSORTD_END,

	/* from gpusortd */
	GPUSORTD_WELCOME = 101,
	GPUSORTD_QUEUED,
	GPUSORTD_ADMITTED, /* out of the queue */
	GPUSORTD_JOB,	   /* comes with a file descriptor, the job's chunk memory */
	GPUSORTD_CHUNK_FREE,
	GPUSORTD_SORTED,
	GPUSORTD_ROWS,
	GPUSORTD_ENDED,
	GPUSORTD_ERROR
} GpusortdType;

typedef enum GpusortdCode
{
	GPUSORTD_OK = 0,
	/* another protocol, or a message that is not allowed now; the connection is closed */
	GPUSORTD_PROTOCOL_ERROR,
	GPUSORTD_INVALID,	   /* a number is out of range */
	GPUSORTD_BAD_CHUNK,	   /* the content of a chunk is not as chunk.h describes */
	GPUSORTD_MEMORY_FULL,  /* no more device memory for this job */
	GPUSORTD_STAGING_FULL, /* no chunk memory to lend now */
	GPUSORTD_JOB_OVER,	   /* the job to join or to feed has ended, has failed or is being sorted */
	GPUSORTD_DEVICE_LOST,  /* the device failed; gpusortd is about to end */
	GPUSORTD_NO_RESOURCES, /* out of host memory, threads or files */
	GPUSORTD_DISCONNECTED  /* never sent: the client's code for a connection that was closed */
} GpusortdCode;

/* The exit statuses of gpusortd.  The parent decides by the status whether to restart it. */
typedef enum GpusortdExit
{
	GPUSORTD_EXIT_ASKED = 0,
	GPUSORTD_EXIT_NOT_STARTED = 1, /* a resource was missing; the next start may have it */
	GPUSORTD_EXIT_USAGE = 2,	   /* wrong options */
	GPUSORTD_EXIT_DEVICE_LOST = 3, /* a new process may have the device again */
	GPUSORTD_EXIT_HUNG = 4,		   /* a device does not answer, or a job does not end */
	GPUSORTD_EXIT_NO_DEVICE = 5,   /* no device can be used */
	GPUSORTD_EXIT_NOT_RUN = 127	   /* not from gpusortd itself: the program could not be executed */
} GpusortdExit;

/* ---- from the client ---- */

typedef struct GpusortdHello
{
	uint64_t flags; /* 0 */
} GpusortdHello;

typedef enum GpusortdAlgorithm
{
	GPUSORTD_AUTO = 0,
	GPUSORTD_SAMPLE,
	GPUSORTD_BUCKET,
	GPUSORTD_RADIX
} GpusortdAlgorithm;

typedef struct GpusortdBegin
{
	uint32_t key_bytes; /* 8, 16, 24 or 32; 0: keys of variable length */
	uint32_t algorithm;
	uint64_t reserved;			 /* 0 */
	uint64_t expected_rows;		 /* estimates, only for admission; 0 if unknown */
	uint64_t expected_key_bytes; /* total of all keys, if they vary in length */
	uint64_t expected_row_bytes; /* total of all rows */
	uint64_t most_bytes;		 /* maximum device memory of the job; 0: no limit */
} GpusortdBegin;

/* Another process feeds the same job. */
typedef struct GpusortdJoin
{
	uint64_t job;
	uint64_t token; /* both from the message JOB */
} GpusortdJoin;

/* The chunk goes to gpusortd, until CHUNK_FREE. */
typedef struct GpusortdSubmit
{
	uint32_t chunk;
	uint32_t reserved; /* 0 */
	uint64_t rows;
	uint64_t front; /* bytes of entries, from the chunk's start */
	uint64_t back;	/* offset of the lowest row */
} GpusortdSubmit;

/*
 * Ranks for codes in fixed keys.  The chunk has them, 4 bytes each; it goes to gpusortd, until CHUNK_FREE.
 */
typedef struct GpusortdRanks
{
	uint32_t chunk;
	uint32_t offset; /* of the code in a key, in bytes */
	uint64_t first; /* the code of the first rank; 0: of another column, otherwise the next one of the same */
	uint64_t codes; /* number of ranks, 1 or more */
} GpusortdRanks;

typedef struct GpusortdPerform
{
	uint64_t flags; /* 0 */
} GpusortdPerform;

#define GPUSORTD_NEXT UINT64_MAX

/* The chunk goes to gpusortd, until ROWS. */
typedef struct GpusortdFetch
{
	uint32_t chunk;
	uint32_t backward; /* 1: the rows before the position, still in ascending order */
	uint64_t position; /* number of rows before the position; GPUSORTD_NEXT: the end of the last fetch */
} GpusortdFetch;

typedef struct GpusortdEnd
{
	uint64_t flags; /* 0 */
} GpusortdEnd;

/* ---- from gpusortd ---- */

typedef struct GpusortdDevice
{
	char name[64]; /* ends with a zero */
	uint32_t number;
	uint32_t jobs;		   /* present jobs */
	uint64_t memory_bytes; /* memory of the device */
	uint64_t limit_bytes;  /* memory that gpusortd may use */
	uint64_t free_bytes;   /* part of limit_bytes that is not promised to a job */
} GpusortdDevice;

typedef struct GpusortdWelcome
{
	uint32_t devices;
	uint32_t host_memory; /* 1: no real devices */
	uint64_t chunk_bytes; /* no row with its entry can be longer */
	uint64_t idle_bytes;  /* host memory of resting jobs */
	GpusortdDevice device[GPUSORTD_MAX_DEVICES];
} GpusortdWelcome;

typedef struct GpusortdQueued
{
	uint64_t before; /* jobs before this one */
} GpusortdQueued;

typedef struct GpusortdAdmitted
{
	uint64_t flags; /* 0 */
} GpusortdAdmitted;

/* All chunks belong to the client at first. */
typedef struct GpusortdJob
{
	uint64_t job;
	uint64_t token;
	uint32_t device; /* index in WELCOME, from 0 */
	uint32_t chunks;
	uint64_t chunk_bytes;	 /* chunk i is at i * chunk_bytes of the memory */
	uint64_t promised_bytes; /* promised device memory */
} GpusortdJob;

typedef struct GpusortdChunkFree
{
	uint32_t chunk;
	/* 0: the rows are on the device; GPUSORTD_MEMORY_FULL: they are not, and the job goes on */
	uint32_t refused;
} GpusortdChunkFree;

typedef struct GpusortdSorted
{
	uint64_t rows;
	uint64_t key_bytes;
	uint64_t row_bytes;
	uint64_t device_bytes; /* the most device memory */
	uint64_t feed_us;	   /* copying chunks and extracting keys */
	uint64_t sort_us;
	uint64_t plan_us; /* finding each row's place in the result */
} GpusortdSorted;

/*
 * A window of the result: consecutive rows from the chunk's start, each a multiple of 8 bytes.
 */
typedef struct GpusortdRows
{
	uint32_t chunk;
	uint32_t reserved;
	uint64_t first; /* number of rows before the window */
	uint64_t rows;	/* 0: there are no more in this direction */
	uint64_t bytes;
} GpusortdRows;

typedef struct GpusortdEnded
{
	uint64_t fetch_us; /* gathering and returning rows */
} GpusortdEnded;

typedef struct GpusortdError
{
	uint32_t code;
	uint32_t reserved;
	char message[248]; /* ends with a zero */
} GpusortdError;

static_assert(sizeof(GpusortdHeader) == 16, "wire format");
static_assert(sizeof(GpusortdHello) == 8, "wire format");
static_assert(sizeof(GpusortdBegin) == 48, "wire format");
static_assert(sizeof(GpusortdJoin) == 16, "wire format");
static_assert(sizeof(GpusortdSubmit) == 32, "wire format");
static_assert(sizeof(GpusortdRanks) == 24, "wire format");
static_assert(sizeof(GpusortdPerform) == 8, "wire format");
static_assert(sizeof(GpusortdFetch) == 16, "wire format");
static_assert(sizeof(GpusortdEnd) == 8, "wire format");
static_assert(sizeof(GpusortdDevice) == 96, "wire format");
static_assert(sizeof(GpusortdWelcome) == 24 + 96 * GPUSORTD_MAX_DEVICES, "wire format");
static_assert(sizeof(GpusortdQueued) == 8, "wire format");
static_assert(sizeof(GpusortdAdmitted) == 8, "wire format");
static_assert(sizeof(GpusortdJob) == 40, "wire format");
static_assert(sizeof(GpusortdChunkFree) == 8, "wire format");
static_assert(sizeof(GpusortdSorted) == 56, "wire format");
static_assert(sizeof(GpusortdRows) == 32, "wire format");
static_assert(sizeof(GpusortdEnded) == 8, "wire format");
static_assert(sizeof(GpusortdError) == 256, "wire format");
static_assert(sizeof(GpusortdHeader) + sizeof(GpusortdWelcome) <= GPUSORTD_MAX_MESSAGE,
			  "the longest message");

/* Bytes that follow the header of a message of this type; -1: there is no such type. */
static inline int
gpusortd_message_length(unsigned int type)
{
	switch (type)
	{
		case GPUSORTD_HELLO:
			return sizeof(GpusortdHello);
		case GPUSORTD_BEGIN:
			return sizeof(GpusortdBegin);
		case GPUSORTD_JOIN:
			return sizeof(GpusortdJoin);
		case GPUSORTD_SUBMIT:
			return sizeof(GpusortdSubmit);
		case GPUSORTD_RANKS:
			return sizeof(GpusortdRanks);
		case GPUSORTD_PERFORM:
			return sizeof(GpusortdPerform);
		case GPUSORTD_FETCH:
			return sizeof(GpusortdFetch);
		case GPUSORTD_END:
			return sizeof(GpusortdEnd);
		case GPUSORTD_WELCOME:
			return sizeof(GpusortdWelcome);
		case GPUSORTD_QUEUED:
			return sizeof(GpusortdQueued);
		case GPUSORTD_ADMITTED:
			return sizeof(GpusortdAdmitted);
		case GPUSORTD_JOB:
			return sizeof(GpusortdJob);
		case GPUSORTD_CHUNK_FREE:
			return sizeof(GpusortdChunkFree);
		case GPUSORTD_SORTED:
			return sizeof(GpusortdSorted);
		case GPUSORTD_ROWS:
			return sizeof(GpusortdRows);
		case GPUSORTD_ENDED:
			return sizeof(GpusortdEnded);
		case GPUSORTD_ERROR:
			return sizeof(GpusortdError);
		default:
			return -1;
	}
}

#endif /* GPUSORTD_PROTOCOL_H */
