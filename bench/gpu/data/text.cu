/*
 * text.cu
 *		Generators of what natural data looks like: words, URLs, sentences, paths, lists of calls.
 *
 * Words are made of syllables: a consonant, a vowel, and every second one with a consonant at the end.  What
 * is made so can be taken apart in one way only, so that different numbers give different words.
 */
#include <cstdio>
#include <cstring>

#include "gpu/data/datasets.h"

#define NSYLLABLES 100

static size_t
write_text(const char *text, uint8_t *out)
{
	size_t length = strlen(text);

	memcpy(out, text, length);
	return length;
}

static size_t
write_syllable(uint64_t which, uint8_t *out)
{
	out[0] = (uint8_t) "bcdfglmnprstvwkhjzqx"[which % 20];
	out[1] = (uint8_t) "aeiou"[which / 20 % 5];
	if (which % 2)
		return 2;
	out[2] = (uint8_t) "nrstlmdkcp"[(which / 2) % 10];
	return 3;
}

/* A name of so many syllables; the same for the same number. */
static size_t
write_name(uint64_t number, int syllables, uint8_t *out)
{
	StringRandom random(number, 1);
	size_t length = 0;

	for (int i = 0; i < syllables; i++)
		length += write_syllable(random.below(NSYLLABLES), out + length);
	return length;
}

/* Four syllables that spell the number; now and then, two words share a long beginning. */
size_t
write_words(uint64_t i, uint64_t, uint8_t *out)
{
	uint64_t spelled = i * UINT64_C(38490073) % UINT64_C(100000000);
	size_t length = 0;

	if (i % 5000 < 2)
		length = write_name(i / 5000, 15, out);
	for (int digit = 0; digit < 4; digit++, spelled /= NSYLLABLES)
		length += write_syllable(spelled % NSYLLABLES, out + length);
	return length;
}

/* Calls from a small dictionary, the first ones most of the time. */
size_t
write_dictcalls(uint64_t i, uint64_t seed, uint8_t *out)
{
	static const char *const calls[] = {"mov ", "add ", "ld ",	"st ",	"cmp ", "call ", "ret ", "push ",
										"pop ", "jmp ", "sub ", "xor ", "and ", "lea ",	 "shl ", "nop "};
	StringRandom random(seed, i);
	uint64_t ncalls = 3 + random.below(5);
	size_t length = 0;

	for (uint64_t call = 0; call < ncalls; call++)
	{
		double skewed = random.fraction();

		length += write_text(calls[(int) (16 * skewed * skewed)], out + length);
	}
	return length - 1;
}

/* Pages of few hosts, a page often many times, some with a long query that their host's other pages share. */
size_t
write_url(uint64_t i, uint64_t seed, uint8_t *out)
{
	static const char *const domains[] = {".com/", ".org/", ".net/", ".edu/", ".de/", ".co.uk/"};
	double skewed = StringRandom(seed, i).fraction();
	uint64_t page = (uint64_t) (2500000 * skewed * skewed * skewed);
	StringRandom random(seed, page + (UINT64_C(1) << 40));
	double popular = random.fraction();
	uint64_t host = (uint64_t) (30000 * popular * popular);
	size_t length = write_text("http://www.", out);

	length += write_name(host, 2 + (int) (host % 3), out + length);
	length += write_text(domains[host % 6], out + length);
	if (random.below(500) == 0)
	{
		length += write_text("query?session=", out + length);
		length += write_name(host % 16, 68, out + length);
	}
	if (random.below(4) == 0)
		return length + write_text("index.html", out + length);
	return length + write_name(random.below(20000), 3, out + length);
}

/* Words by rank, frequent ones short; some beginnings are everybody's. */
size_t
write_sentences(uint64_t i, uint64_t seed, uint8_t *out)
{
	StringRandom random(seed, i);
	size_t limit = 20 + random.below(52) + random.below(52);
	uint64_t beginning = random.below(3) ? 0 : 1 + random.below(400);
	StringRandom words = StringRandom(seed, beginning + (UINT64_C(1) << 40));
	uint64_t shared = beginning ? 2 + beginning % 7 : 0;
	size_t length = 0;

	for (uint64_t word = 0; word == 0 || length < limit; word++)
	{
		double skewed = word < shared ? words.fraction() : random.fraction();
		uint64_t rank = (uint64_t) (8000 * skewed * skewed * skewed * skewed);

		length += write_name(rank, rank < 100 ? 1 + (int) (rank % 2) : 2 + (int) (rank % 3), out + length);
		out[length++] = ' ';
	}
	out[length - 1] = '.';
	return length;
}

/*
 * Two million files, 30 to a directory, on five nodes; a file is named after its directory, its group and its
 * number.
 */
size_t
write_pc_filelist(uint64_t i, uint64_t seed, uint8_t *out)
{
	static const char *const tops[] = {"usr/share/doc/",		 "usr/lib/python3/dist-packages/",
									   "usr/include/",			 "var/lib/dpkg/info/",
									   "usr/share/locale/",		 "home/projects/source/",
									   "usr/src/linux-headers/", "opt/application/resources/"};
	static const char *const ends[] = {".html", ".py", ".h", ".c", ".so", ".png", ".txt", ".list"};
	uint64_t file = i * UINT64_C(1299709) % 10000000;
	uint64_t directory = file % 2000000 / 30;
	size_t length = (size_t) snprintf((char *) out, 16, "node%u/", (unsigned int) (file / 2000000) + 1);

	length += write_text(tops[directory % 8], out + length);
	length += write_name(seed % 1000 + directory / 512, 3, out + length);
	out[length++] = '/';
	length += write_name(seed % 1000 + directory / 32, 2, out + length);
	out[length++] = '/';
	if (directory % 16 == 7)
	{
		length += write_name(directory / 512, 30, out + length);
		out[length++] = '/';
	}
	length += write_name(directory, 3, out + length);
	out[length++] = '/';
	length += write_name(directory + file % 30 / 10 * 7, 3, out + length);
	length += (size_t) snprintf((char *) out + length, 16, "-%02u", (unsigned int) (file % 30));
	return length + write_text(ends[directory % 8], out + length);
}
