/*
 * resources.h
 *		What jobs share: the memory of the devices, and chunk memory.
 *
 * Device memory is promised, not handed out: the gate keeps account of how much each job was promised, and admits no job
 * for which there is nothing left.  Who comes first is admitted first, even if a later, smaller job would fit already:
 * so no job waits for ever.  A job goes to the device with the most left.  A promise can be raised while the job runs, if
 * there is something left; if not the job is told that the memory is full, and nobody waits for anybody.
 *
 * Chunk memory is a pool of segments, each some chunks in a memfd that is sealed against changes of its size.  They are
 * made when first needed, registered with the devices once, and lent to one connection at a time.  A client may keep its
 * mapping of a segment that is lent to another; all clients are the same user's.
 */
#ifndef GPUSORTD_RESOURCES_H
#define GPUSORTD_RESOURCES_H

#include <list>
#include <mutex>

#include "device_layer.h"

/* ---- chunk memory ---- */

struct Segment
{
	int			fd = -1;
	uint8_t    *base = nullptr;
};

class SegmentPool
{
public:
	SegmentPool(DeviceLayer *device_layer, uint64_t size_of_chunk, uint32_t chunks_of_segment);
	~SegmentPool();

	Outcome take(Segment *segment);
	void give_back(Segment segment);

	const uint64_t chunk_bytes;
	const uint32_t chunks;

private:
	Outcome make(Segment *segment);
	void destroy(Segment segment);

	DeviceLayer *layer;
	std::mutex	mutex;
	std::vector<Segment> free_segments;
};

/* ---- admission ---- */

struct GateDevice
{
	DeviceDescription description;
	uint64_t	limit;
	uint64_t	promised;
	uint32_t	jobs;
};

class Gate;

/* One job's place in the queue, and then its share.  Left by destroying it, from whatever state. */
class Admission
{
public:
	~Admission();

	/* Becomes readable when admitted. */
	int
	event_fd() const
	{
		return event;
	}

	bool admitted() const;

	/* Once admitted: the device's number, and the bytes promised. */
	int device() const;
	uint64_t promised() const;

	/* Jobs in the queue before this one. */
	uint64_t before() const;

	/* Raises the promise to so many bytes, if it was lower and there is as much. */
	bool promise(uint64_t bytes);

private:
	friend class Gate;
	Admission(Gate *its_gate, int event_fd, uint64_t bytes) : gate(its_gate), event(event_fd), share(bytes)
	{
	}

	Gate	   *gate;
	int			event;
	uint64_t	share;			/* wanted, then promised */
	GateDevice *place = nullptr;	/* once admitted */
};

class Gate
{
public:
	Gate(std::vector<GateDevice> all_devices, uint32_t segments) : devices(std::move(all_devices)), free_segments(segments)
	{
	}

	/* Takes a place at the end of the queue, for a job that is expected to need so much; NULL: no files left. */
	std::unique_ptr<Admission> enter(uint64_t bytes);

	/* A segment for a connection that helps a job which was admitted already: now or not at all. */
	bool take_segment();
	void release_segment();

	std::vector<GateDevice> describe();

private:
	friend class Admission;
	void admit_waiting();
	GateDevice *most_free();

	std::mutex	mutex;
	std::vector<GateDevice> devices;
	uint32_t	free_segments;
	std::list<Admission *> queue;
};

#endif							/* GPUSORTD_RESOURCES_H */
