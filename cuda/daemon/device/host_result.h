/*
 * host_result.h
 *		A sorted result that has left its device: its windows, in host memory.
 *
 * It takes the place of the job that it was taken from, and answers fetches as that one would.
 */
#ifndef GPUSORTD_HOST_RESULT_H
#define GPUSORTD_HOST_RESULT_H

#include "daemon/device/layer.h"

class HostResult : public DeviceJob
{
public:
	explicit HostResult(const JobShape &its_shape) : shape(its_shape)
	{
	}

	/* Takes the next window of a sorted job; *all: there is none left. */
	Outcome take(DeviceJob *from, bool *all);

	Outcome submit(const FilledChunk &chunk) override;
	Outcome take_ranks(const RankPiece &piece) override;
	Outcome perform(GpusortdSorted *sorted) override;
	uint64_t least() override;
	void trim() override;
	Outcome start_fetch(uint64_t position, bool backward, uint8_t *target, Window *window) override;
	Outcome finish_fetch(uint64_t ticket) override;

private:
	struct Piece
	{
		Window window;
		std::unique_ptr<uint8_t[]> bytes;
	};

	uint64_t row_bytes(const uint8_t *row) const;
	uint64_t bytes_before(const Piece &piece, uint64_t row) const;

	JobShape shape;
	uint64_t rows = 0;
	std::vector<Piece> pieces;
};

#endif /* GPUSORTD_HOST_RESULT_H */
