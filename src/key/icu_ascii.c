/*
 * key/icu_ascii.c
 *		ICU sort keys of ASCII strings, put together from those of single characters.
 *
 * ucol_getSortKey takes 15 to 20 ns a character, for it is made for any script.  Where a character's weights
 * do not depend on its neighbours, the key of a string is its characters' weights one after the other, level
 * by level:
 *
 *		primary weights 01 secondary weights 01 tertiary weights 00
 *
 * in a form that ICU's collation design documents describe ("sort keys", compression): primary weights that
 * begin with the same compressible byte hold it once, and a byte 03 or FF says whether the next one that
 * differs is lower or higher; on the other levels runs of the common weight become counts.
 *
 * What the characters' weights are is learned from the sort keys that ICU gives for them alone and doubled.
 * That neighbours do not matter is known if no contraction consists of ASCII characters.  And because all
 * this is knowledge of another library's insides, a collator is used this way only if some thousand random
 * strings give, to the byte, the keys that ICU gives.  Everything else is left to ICU.
 */
#include "postgres.h"

#include "key/icu_ascii.h"

#ifdef USE_ICU

#include <unicode/uset.h>

#include "common/pg_prng.h"
#include "utils/memutils.h"

#define NCHARS 128
#define MAX_KEY 64 /* bytes of the key of one or two characters */

#define LEVEL_SEPARATOR 0x01
#define LOWER_LEAD_FOLLOWS 0x03
#define HIGHER_LEAD_FOLLOWS 0xFF
#define COMMON_WEIGHT 0x05

/* How runs of the common weight are counted: at the end of a level, or before a higher weight. */
typedef struct CommonRun
{
	int step;	  /* the most that one byte counts */
	uint8 middle; /* the byte for a full step, when more follow */
	uint8 high;	  /* minus the count: the byte before a higher weight */
} CommonRun;

static const CommonRun secondary_run = {0x21, COMMON_WEIGHT + 0x20, COMMON_WEIGHT + 0x40};
static const CommonRun tertiary_run = {0x61, COMMON_WEIGHT + 0x60, COMMON_WEIGHT + 0xC0};

typedef struct AsciiChar
{
	bool simple; /* known, and not ignored */
	/* of the primary weights that share a compressible lead byte, from 1 on; 0: it shares none */
	uint8 group;
	uint8 ntertiary; /* bytes of the tertiary weight; 0: the common one */
	uint8 tertiary[2];
	uint8 nprimary;
	uint8 primary[4];
} AsciiChar;

/*
 * What a character adds to the primary weights behind one of another group, or its own; written as one word.
 */
typedef struct PrimaryStep
{
	uint8 bytes[5];
	uint8 length; /* of them */
	bool simple;
	bool has_tertiary; /* another one than the common one? */
} PrimaryStep;

StaticAssertDecl(sizeof(PrimaryStep) == sizeof(uint64), "a step is one word");

#define MAX_GROUPS 8

struct IcuAscii
{
	struct IcuAscii *next;
	UCollator *collator;
	bool usable;
	AsciiChar chars[256]; /* those from NCHARS on are never simple */
	uint8 groups[256];	  /* theirs, where the cache has room for all */
	uint8 leads[MAX_GROUPS];
	PrimaryStep steps[MAX_GROUPS][256]; /* by the group before, and the character */
};

/* All collators of this process so far. */
static IcuAscii *known;

/* ---------------------------------------------------------------- sort keys */

/* Writes a run of count common weights, at least one. */
static inline uint8 *
write_common_run(uint8 *dst, Size count, const CommonRun *run, bool before_higher)
{
	count--;
	for (; count >= run->step; count -= run->step)
		*dst++ = run->middle;
	*dst++ = before_higher ? run->high - count : COMMON_WEIGHT + count;
	return dst;
}

/*
 * Writes the primary weights; NULL if a character is not simple.  *all_common: are all tertiary weights the
 * common one?  There is no branch that depends on a character, since no processor could foretell it.
 */
static inline uint8 *
write_primaries(const IcuAscii *ascii, const char *bytes, Size len, uint8 *dst, bool *all_common)
{
	uint8 group = 0;
	bool simple = true;
	bool has_tertiary = false;

	for (Size i = 0; i < len; i++)
	{
		uint8 ch = bytes[i];
		const PrimaryStep *step = &ascii->steps[group][ch];

		memcpy(dst, step, sizeof(*step));
		dst += step->length;
		simple &= step->simple;
		has_tertiary |= step->has_tertiary;
		group = ascii->groups[ch];
	}
	*all_common = !has_tertiary;
	return simple ? dst : NULL;
}

static uint8 *
write_tertiaries(const IcuAscii *ascii, const char *bytes, Size len, uint8 *dst)
{
	Size ncommon = 0;

	for (Size i = 0; i < len; i++)
	{
		const AsciiChar *c = &ascii->chars[(uint8) bytes[i]];

		if (c->ntertiary == 0)
		{
			ncommon++;
			continue;
		}
		if (ncommon > 0)
			dst = write_common_run(dst, ncommon, &tertiary_run, true);
		ncommon = 0;
		memcpy(dst, c->tertiary, sizeof(c->tertiary));
		dst += c->ntertiary;
	}
	return ncommon > 0 ? write_common_run(dst, ncommon, &tertiary_run, false) : dst;
}

Size
icu_ascii_sort_key(const IcuAscii *ascii, const char *bytes, Size len, uint8 *dst)
{
	bool all_common;
	uint8 *p;

	if (len == 0)
		return 0;
	p = write_primaries(ascii, bytes, len, dst, &all_common);
	if (p == NULL)
		return 0;
	*p++ = LEVEL_SEPARATOR;
	p = write_common_run(p, len, &secondary_run, false);
	*p++ = LEVEL_SEPARATOR;
	if (all_common)
		p = write_common_run(p, len, &tertiary_run, false);
	else
		p = write_tertiaries(ascii, bytes, len, p);
	*p++ = 0;
	return p - dst;
}

/* ---------------------------------------------------------------- learning */

/* Does the collator's comparison have the usual three levels and nothing else? */
static bool
has_usual_levels(UCollator *collator)
{
	UErrorCode status = U_ZERO_ERROR;
	bool usual = ucol_getStrength(collator) == UCOL_TERTIARY &&
				 ucol_getAttribute(collator, UCOL_CASE_LEVEL, &status) == UCOL_OFF &&
				 ucol_getAttribute(collator, UCOL_CASE_FIRST, &status) == UCOL_OFF &&
				 ucol_getAttribute(collator, UCOL_NUMERIC_COLLATION, &status) == UCOL_OFF;

	return usual && U_SUCCESS(status);
}

static bool
is_ascii(const UChar *chars, int32 nchars)
{
	for (int32 i = 0; i < nchars; i++)
	{
		if (chars[i] >= NCHARS)
			return false;
	}
	return true;
}

/* Is there a contraction of ASCII characters alone, such as the Czech "ch"?  If in doubt, yes. */
static bool
has_ascii_contraction(UCollator *collator)
{
	UErrorCode status = U_ZERO_ERROR;
	USet *contractions = uset_openEmpty();
	bool found = false;

	ucol_getContractionsAndExpansions(collator, contractions, NULL, true, &status);
	for (int32 i = 0; i < uset_getItemCount(contractions) && U_SUCCESS(status) && !found; i++)
	{
		UChar chars[64];
		UChar32 from;
		UChar32 to;
		int32 nchars = uset_getItem(contractions, i, &from, &to, chars, lengthof(chars), &status);

		found = nchars > 0 && U_SUCCESS(status) && is_ascii(chars, nchars);
	}
	uset_close(contractions);
	return found || U_FAILURE(status);
}

/* Learns one character's weights from the key of it alone; false if it is of no simple kind. */
static bool
learn_weights(UCollator *collator, UChar ch, AsciiChar *c)
{
	uint8 key[MAX_KEY];
	int32 size = ucol_getSortKey(collator, &ch, 1, key, sizeof(key));
	int nprimary = 0;
	const uint8 *tertiary;

	if (size <= 0 || size > sizeof(key))
		return false;
	while (nprimary < size && key[nprimary] != LEVEL_SEPARATOR)
		nprimary++;
	if (nprimary < 1 || nprimary > 4 || size < nprimary + 5 || size > nprimary + 6)
		return false;
	if (key[nprimary + 1] != COMMON_WEIGHT || key[nprimary + 2] != LEVEL_SEPARATOR)
		return false;

	c->nprimary = nprimary;
	memcpy(c->primary, key, nprimary);
	tertiary = key + nprimary + 3;
	c->ntertiary = size - nprimary - 4;
	memcpy(c->tertiary, tertiary, c->ntertiary);
	if (c->ntertiary == 1 && tertiary[0] == COMMON_WEIGHT)
		c->ntertiary = 0;
	else if (tertiary[0] <= tertiary_run.high)
		return false;
	return true;
}

/* Learns from the doubled character whether the lead byte of its primary weight is compressible. */
static bool
learn_group(IcuAscii *ascii, UChar ch, AsciiChar *c)
{
	UChar twice[2] = {ch, ch};
	uint8 key[MAX_KEY];
	int32 size = ucol_getSortKey(ascii->collator, twice, 2, key, sizeof(key));
	int group = 1;

	if (size <= 2 * c->nprimary || size > sizeof(key))
		return false;
	if (key[2 * c->nprimary] == LEVEL_SEPARATOR)
		return true;
	while (group < MAX_GROUPS && ascii->leads[group] != 0 && ascii->leads[group] != c->primary[0])
		group++;
	if (group == MAX_GROUPS)
		return false;
	ascii->leads[group] = c->primary[0];
	c->group = group;
	return true;
}

static PrimaryStep
make_step(const IcuAscii *ascii, int group_before, const AsciiChar *c)
{
	PrimaryStep step = {.simple = c->simple, .has_tertiary = c->ntertiary > 0};
	bool shares_lead = c->group > 0 && c->group == group_before;

	if (group_before > 0 && !shares_lead)
		step.bytes[step.length++] =
			c->primary[0] < ascii->leads[group_before] ? LOWER_LEAD_FOLLOWS : HIGHER_LEAD_FOLLOWS;
	memcpy(step.bytes + step.length, c->primary + shares_lead, c->nprimary - shares_lead);
	step.length += c->nprimary - shares_lead;
	return step;
}

static void
learn_characters(IcuAscii *ascii)
{
	for (int ch = 1; ch < NCHARS; ch++)
	{
		AsciiChar *c = &ascii->chars[ch];

		c->simple = learn_weights(ascii->collator, ch, c) && learn_group(ascii, ch, c);
		ascii->groups[ch] = c->group;
	}
	for (int group = 0; group < MAX_GROUPS; group++)
	{
		for (int ch = 0; ch < lengthof(ascii->chars); ch++)
			ascii->steps[group][ch] = make_step(ascii, group, &ascii->chars[ch]);
	}
}

/* ---------------------------------------------------------------- proving */

#define PROOF_STRINGS 2000
#define PROOF_MAX_LENGTH 300

/* A random string: of one letter or few, of one class or all characters, short or long. */
static Size
random_string(pg_prng_state *prng, char *bytes)
{
	static const char *const classes[] = {"abcdefghijklmnopqrstuvwxyz", "aA", "abcABC019", "/usr/lib-2.0_X",
										  "0123456789"};
	uint64 kind = pg_prng_uint64(prng) % (lengthof(classes) + 3);
	Size limit = pg_prng_uint64(prng) % 8 == 0 ? PROOF_MAX_LENGTH : 24;
	Size len = 1 + pg_prng_uint64(prng) % limit;

	for (Size i = 0; i < len; i++)
	{
		uint64 r = pg_prng_uint64(prng);

		bytes[i] = kind < lengthof(classes) ? classes[kind][r % strlen(classes[kind])]
											: (char) (1 + r % (NCHARS - 1));
	}
	return len;
}

/* Does a string get ICU's own key?  Strings that are left to ICU do not count. */
static bool
key_is_exact(const IcuAscii *ascii, const char *bytes, Size len)
{
	uint8 mine[ICU_ASCII_ROOM(PROOF_MAX_LENGTH)];
	uint8 theirs[ICU_ASCII_ROOM(PROOF_MAX_LENGTH)];
	UChar chars[PROOF_MAX_LENGTH];
	Size size = icu_ascii_sort_key(ascii, bytes, len, mine);

	if (size == 0)
		return true;
	for (Size i = 0; i < len; i++)
		chars[i] = bytes[i];
	return ucol_getSortKey(ascii->collator, chars, len, theirs, sizeof(theirs)) == size &&
		   memcmp(mine, theirs, size) == 0;
}

/* All pairs of characters, and random strings. */
static bool
prove(const IcuAscii *ascii)
{
	pg_prng_state prng;
	char bytes[PROOF_MAX_LENGTH];

	for (int a = 1; a < NCHARS; a++)
	{
		for (int b = 1; b < NCHARS; b++)
		{
			bytes[0] = a;
			bytes[1] = b;
			if (!key_is_exact(ascii, bytes, 2))
				return false;
		}
	}
	pg_prng_seed(&prng, 20261121);
	for (int i = 0; i < PROOF_STRINGS; i++)
	{
		if (!key_is_exact(ascii, bytes, random_string(&prng, bytes)))
			return false;
	}
	return true;
}

static IcuAscii *
find_known(const UCollator *collator)
{
	IcuAscii *ascii = known;

	while (ascii != NULL && ascii->collator != collator)
		ascii = ascii->next;
	return ascii;
}

bool
icu_ascii_is_known(UCollator *collator)
{
	return find_known(collator) != NULL;
}

const IcuAscii *
icu_ascii_get(UCollator *collator)
{
	IcuAscii *ascii = find_known(collator);

	if (ascii != NULL)
		return ascii->usable ? ascii : NULL;
	ascii = MemoryContextAllocZero(TopMemoryContext, sizeof(IcuAscii));
	ascii->collator = collator;
	if (has_usual_levels(collator) && !has_ascii_contraction(collator))
	{
		learn_characters(ascii);
		ascii->usable = prove(ascii);
	}
	ascii->next = known;
	known = ascii;
	return ascii->usable ? ascii : NULL;
}

#endif /* USE_ICU */
