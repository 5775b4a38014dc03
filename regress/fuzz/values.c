/*
 * regress/fuzz/values.c
 *		Values of any type, made of a case's bytes.
 *
 * Types of a fixed width take their bytes as they are on the wire, through the type's own receive function,
 * so each value that a client could send can come.  Most random bytes would be no value of the other types.
 * They are put together of parts, so that nearly all bytes make one.
 */
#include "postgres.h"

#include <sys/socket.h>

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "datatype/timestamp.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "libpq/pqformat.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/inet.h"
#include "utils/json.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/rangetypes.h"
#include "utils/typcache.h"

#include "fuzz.h"

/* The elements of a value, and how deep documents are. */
#define MOST_ELEMENTS 5
#define MOST_DEPTH 3

/*
 * Strings of more characters than this repeat what they have, up to so many bytes: the C library may take
 * seconds to compare strings of 20 kB that are full of characters without weight.
 */
#define MOST_CHARACTERS 40
#define MOST_STRING_BYTES 600

/* ---- by the functions of types ---- */

static Datum
receive(StringInfo message, Oid type)
{
	Oid function;
	Oid parameter;

	getTypeBinaryInputInfo(type, &function, &parameter);
	return OidReceiveFunctionCall(function, message, parameter, -1);
}

static Datum
read_text(char *text, Oid type)
{
	Oid function;
	Oid parameter;

	getTypeInputInfo(type, &function, &parameter);
	return OidInputFunctionCall(function, text, parameter, -1);
}

/* A number on the wire, of so many bytes. */
static void
send_number(StringInfo message, uint64 number, int nbytes)
{
	while (nbytes-- > 0)
		appendStringInfoCharMacro(message, (char) (number >> (nbytes * BITS_PER_BYTE)));
}

static void
send_bytes(StringInfo message, FuzzInput *input, int nbytes)
{
	while (nbytes-- > 0)
		appendStringInfoCharMacro(message, (char) fuzz_byte(input));
}

static Datum
receive_bytes(FuzzInput *input, int nbytes, Oid type)
{
	StringInfoData message;

	initStringInfo(&message);
	send_bytes(&message, input, nbytes);
	return receive(&message, type);
}

/* ---- strings ---- */

/* A character: of ASCII in one byte, any other one in three. */
static void
add_character(StringInfo string, FuzzInput *input)
{
	uint8 byte = fuzz_byte(input);
	unsigned char encoded[8];
	uint32 code = byte;

	if (byte >= 0x80)
		code = (byte & 0x0F) << 16 | fuzz_number(input, 2);
	if (code == 0 || (code >= 0xD800 && code < 0xE000))
		code = ' ';
	unicode_to_utf8(code, encoded);
	appendBinaryStringInfo(string, (char *) encoded, pg_utf_mblen(encoded));
}

/*
 * Its number of characters, and they; a long one has them again and again, and one that is not a repetition.
 */
static void
add_string(StringInfo string, FuzzInput *input, int most_bytes)
{
	int ncharacters = fuzz_byte(input);
	int repeat = ncharacters > MOST_CHARACTERS ? ncharacters - MOST_CHARACTERS : 0;
	int before = string->len;

	for (ncharacters = Min(ncharacters, MOST_CHARACTERS); ncharacters > 0; ncharacters--)
		add_character(string, input);
	if (repeat > 0 && string->len > before)
	{
		char *piece = pnstrdup(string->data + before, string->len - before);

		while (repeat-- > 0 && string->len - before < MOST_STRING_BYTES)
			appendStringInfoString(string, piece);
		add_character(string, input);
	}
	if (string->len - before > most_bytes)
	{
		string->len = before + pg_mbcliplen(string->data + before, string->len - before, most_bytes);
		string->data[string->len] = '\0';
	}
}

static Datum
make_text(FuzzInput *input)
{
	StringInfoData string;

	initStringInfo(&string);
	add_string(&string, input, MOST_STRING_BYTES);
	return PointerGetDatum(cstring_to_text_with_len(string.data, string.len));
}

static Datum
make_name(FuzzInput *input)
{
	Name name = palloc0(NAMEDATALEN);
	StringInfoData string;

	initStringInfo(&string);
	add_string(&string, input, NAMEDATALEN - 1);
	memcpy(NameStr(*name), string.data, string.len);
	return NameGetDatum(name);
}

static Datum
make_bytea(FuzzInput *input)
{
	int nbytes = fuzz_byte(input);
	StringInfoData bytes;

	initStringInfo(&bytes);
	send_bytes(&bytes, input, nbytes);
	return PointerGetDatum(cstring_to_text_with_len(bytes.data, bytes.len));
}

static Datum
make_bits(FuzzInput *input, Oid type)
{
	int nbits = fuzz_byte(input);
	StringInfoData message;

	initStringInfo(&message);
	send_number(&message, nbits, 4);
	send_bytes(&message, input, (nbits + 7) / 8);
	return receive(&message, type);
}

/* ---- numbers ---- */

/* Digits to the base 10000, and the place of the first one; a short form of that place, and a long one. */
static Datum
make_numeric(FuzzInput *input)
{
	static const uint16 special[] = {0xC000, 0xD000, 0xF000}; /* NaN, infinity, its negative */
	uint8 form = fuzz_byte(input);
	int ndigits = form % 8;
	int16 weight = form & 0x08 ? (int16) fuzz_number(input, 2) : (int8) fuzz_byte(input);
	uint16 sign = form & 0x10 ? 0x4000 : 0;
	uint16 scale = form & 0x20 ? fuzz_number(input, 2) & 0x3FFF : 4 * Max(0, ndigits - 1 - weight);
	StringInfoData message;

	if ((form & 0xC0) == 0xC0)
		sign = special[ndigits % lengthof(special)];
	initStringInfo(&message);
	send_number(&message, ndigits, 2);
	send_number(&message, weight, 2);
	send_number(&message, sign, 2);
	send_number(&message, Min(scale, 0x3FFF), 2);
	for (int i = 0; i < ndigits; i++)
	{
		uint16 digit = fuzz_number(input, 2);

		send_number(&message, digit < 10000 ? digit : digit % 3 * 4999, 2);
	}
	return receive(&message, NUMERICOID);
}

/* Whole numbers, most of which are in a type's range; the others become what is next to its ends. */
static Datum
make_in_range(FuzzInput *input, int nbytes, int64 low, int64 high, Oid type)
{
	int64 number = (int64) fuzz_number(input, nbytes);
	StringInfoData message;

	if (nbytes == 4)
		number = (int32) number;
	if (number < low || number > high)
	{
		int64 distance = (uint64) number >> 1 & 3;

		number = number % 2 == 0 ? low + distance : high - distance;
	}
	initStringInfo(&message);
	send_number(&message, number, nbytes);
	if (type == TIMETZOID)
		send_number(&message, (int32) fuzz_number(input, 3) % 57599, 4);
	return receive(&message, type);
}

/* ---- others that are not made of values ---- */

static Datum
make_inet(FuzzInput *input, Oid type)
{
	uint8 form = fuzz_byte(input);
	int nbytes = form & 0x80 ? 16 : 4;
	int nbits = (form & 0x7F) % (nbytes * 8 + 1);
	StringInfoData message;

	initStringInfo(&message);
	send_number(&message, form & 0x80 ? PGSQL_AF_INET6 : PGSQL_AF_INET, 1);
	send_number(&message, nbits, 1);
	send_number(&message, type == CIDROID, 1);
	send_number(&message, nbytes, 1);
	for (int i = 0; i < nbytes; i++)
	{
		int net = Max(0, Min(8, nbits - i * 8));
		uint8 byte = fuzz_byte(input);

		send_number(&message, type == CIDROID ? byte & (0xFF00 >> net) : byte, 1);
	}
	return receive(&message, type);
}

static Datum
make_oidvector(FuzzInput *input)
{
	int noids = fuzz_byte(input) % (MOST_ELEMENTS + 1);
	Oid oids[MOST_ELEMENTS];

	for (int i = 0; i < noids; i++)
		oids[i] = fuzz_number(input, 4);
	return PointerGetDatum(buildoidvector(oids, noids));
}

/* Lexemes, with places and weights. */
static Datum
make_tsvector(FuzzInput *input)
{
	int nlexemes = fuzz_byte(input) % (MOST_ELEMENTS + 1);
	StringInfoData text;

	initStringInfo(&text);
	for (int i = 0; i < nlexemes; i++)
	{
		uint8 places = fuzz_byte(input);
		StringInfoData lexeme;

		initStringInfo(&lexeme);
		add_string(&lexeme, input, MOST_STRING_BYTES);
		appendStringInfoChar(&text, '\'');
		for (const char *c = lexeme.data; *c != '\0'; c++)
		{
			if (*c == '\'' || *c == '\\')
				appendStringInfoChar(&text, *c);
			appendStringInfoChar(&text, *c);
		}
		appendStringInfoChar(&text, '\'');
		for (int j = 0; j < places % 4; j++)
			appendStringInfo(&text, "%c%d%.1s", j == 0 ? ':' : ',',
							 1 + (int) (fuzz_number(input, 2) & 0x3FFF),
							 &"\0A\0B\0C\0D"[fuzz_byte(input) % 4 * 2 + 1]);
		appendStringInfoChar(&text, ' ');
	}
	return read_text(text.data, TSVECTOROID);
}

/* Labels between dots. */
static Datum
make_ltree(FuzzInput *input, Oid type)
{
	static const char letters[] = "aAbBzZ019_";
	StringInfoData text;

	initStringInfo(&text);
	for (int nletters = fuzz_byte(input) % 60; nletters > 0; nletters--)
	{
		int letter = fuzz_byte(input) % (sizeof(letters) + 1);
		bool open = text.len == 0 || text.data[text.len - 1] == '.';

		appendStringInfoChar(&text, letter < sizeof(letters) - 1 ? letters[letter] : open ? 'm' : '.');
	}
	while (text.len > 0 && text.data[text.len - 1] == '.')
		text.data[--text.len] = '\0';
	return read_text(text.data, type);
}

/* setup.sql makes enums of values e0 to e15. */
static Datum
make_enum(FuzzInput *input, Oid type)
{
	return read_text(psprintf("e%d", fuzz_byte(input) % 16), type);
}

/* ---- values made of others ---- */

static bool
is_null(FuzzInput *input)
{
	return fuzz_byte(input) % 8 == 7;
}

/* As many dimensions as the first byte says; their lengths and where they begin come next. */
static Datum
make_array(FuzzInput *input, Oid element)
{
	int ndims = fuzz_byte(input) % 4;
	int lengths[3];
	int begins[3];
	int nelements = 1;
	Datum values[27];
	bool isnull[27];
	int16 length;
	bool by_value;
	char align;

	if (ndims == 0)
		return PointerGetDatum(construct_empty_array(element));
	for (int i = 0; i < ndims; i++)
	{
		uint8 byte = fuzz_byte(input);

		lengths[i] = ndims == 1 ? 1 + byte % MOST_ELEMENTS : 1 + byte % 3;
		begins[i] = byte & 0x80 ? (int8) fuzz_byte(input) : 1;
		nelements *= lengths[i];
	}
	for (int i = 0; i < nelements; i++)
	{
		isnull[i] = is_null(input);
		values[i] = isnull[i] ? 0 : fuzz_value(input, element);
	}
	get_typlenbyvalalign(element, &length, &by_value, &align);
	return PointerGetDatum(
		construct_md_array(values, isnull, ndims, lengths, begins, element, length, by_value, align));
}

static Datum
make_record(FuzzInput *input, Oid type)
{
	TupleDesc desc = lookup_rowtype_tupdesc_copy(type, -1);
	Datum *values = palloc0(sizeof(Datum) * desc->natts);
	bool *isnull = palloc0(sizeof(bool) * desc->natts);

	for (int i = 0; i < desc->natts; i++)
	{
		isnull[i] = TupleDescAttr(desc, i)->attisdropped || is_null(input);
		if (!isnull[i])
			values[i] = fuzz_value(input, TupleDescAttr(desc, i)->atttypid);
	}
	return HeapTupleGetDatum(heap_form_tuple(desc, values, isnull));
}

static void
send_bound(StringInfo message, Datum value, Oid type)
{
	Oid function;
	bool is_varlena;
	bytea *bytes;

	getTypeBinaryOutputInfo(type, &function, &is_varlena);
	bytes = OidSendFunctionCall(function, value);
	send_number(message, VARSIZE(bytes) - VARHDRSZ, 4);
	appendBinaryStringInfo(message, VARDATA(bytes), VARSIZE(bytes) - VARHDRSZ);
}

/* What kind of range it is, and its bounds, in order. */
static void
send_range(StringInfo message, FuzzInput *input, Oid type)
{
	TypeCacheEntry *typcache = lookup_type_cache(type, TYPECACHE_RANGE_INFO);
	Oid element = typcache->rngelemtype->type_id;
	uint8 flags =
		fuzz_byte(input) & (RANGE_EMPTY | RANGE_LB_INC | RANGE_UB_INC | RANGE_LB_INF | RANGE_UB_INF);
	Datum lower = fuzz_value(input, element);
	Datum upper = fuzz_value(input, element);

	if (DatumGetInt32(
			FunctionCall2Coll(&typcache->rng_cmp_proc_finfo, typcache->rng_collation, lower, upper)) > 0)
	{
		Datum larger = lower;

		lower = upper;
		upper = larger;
	}
	send_number(message, flags, 1);
	if (RANGE_HAS_LBOUND(flags))
		send_bound(message, lower, element);
	if (RANGE_HAS_UBOUND(flags))
		send_bound(message, upper, element);
}

static Datum
make_range_of(FuzzInput *input, Oid type)
{
	StringInfoData message;

	initStringInfo(&message);
	send_range(&message, input, type);
	return receive(&message, type);
}

static Datum
make_multirange_of(FuzzInput *input, Oid type)
{
	Oid range = get_multirange_range(type);
	int nranges = fuzz_byte(input) % (MOST_ELEMENTS - 1);
	StringInfoData message;

	initStringInfo(&message);
	send_number(&message, nranges, 4);
	for (int i = 0; i < nranges; i++)
	{
		StringInfoData part;

		initStringInfo(&part);
		send_range(&part, input, range);
		send_number(&message, part.len, 4);
		appendBinaryStringInfo(&message, part.data, part.len);
	}
	return receive(&message, type);
}

static void
add_json_string(StringInfo text, FuzzInput *input)
{
	StringInfoData string;

	initStringInfo(&string);
	add_string(&string, input, MOST_STRING_BYTES);
	escape_json(text, string.data);
}

static void
add_json(StringInfo text, FuzzInput *input, int depth)
{
	static const char *const words[] = {"null", "true", "false"};
	uint8 form = fuzz_byte(input);
	int kind = form % (depth < MOST_DEPTH ? 7 : 5);
	int nelements = form / 8 % (MOST_ELEMENTS + 1);

	if (kind < 3)
		appendStringInfoString(text, words[kind]);
	else if (kind == 3)
		add_json_string(text, input);
	else if (kind == 4)
		appendStringInfoString(text, DatumGetCString(DirectFunctionCall1(numeric_out, make_numeric(input))));
	else
	{
		appendStringInfoChar(text, kind == 5 ? '[' : '{');
		for (int i = 0; i < nelements; i++)
		{
			if (i > 0)
				appendStringInfoChar(text, ',');
			if (kind == 6)
			{
				add_json_string(text, input);
				appendStringInfoChar(text, ':');
			}
			add_json(text, input, depth + 1);
		}
		appendStringInfoChar(text, kind == 5 ? ']' : '}');
	}
}

static Datum
make_jsonb(FuzzInput *input)
{
	StringInfoData text;

	initStringInfo(&text);
	add_json(&text, input, 0);
	return read_text(text.data, JSONBOID);
}

/* ---- all of them ---- */

/* Types of extensions and of setup.sql, by what they are made as. */
static Datum
make_other(FuzzInput *input, Oid type)
{
	const char *name = format_type_be(type);
	Oid element = get_element_type(type);

	if (OidIsValid(element))
		return make_array(input, element);
	switch (get_typtype(type))
	{
		case TYPTYPE_ENUM:
			return make_enum(input, type);
		case TYPTYPE_COMPOSITE:
			return make_record(input, type);
		case TYPTYPE_RANGE:
			return make_range_of(input, type);
		case TYPTYPE_MULTIRANGE:
			return make_multirange_of(input, type);
	}
	if (strcmp(name, "citext") == 0)
		return make_text(input);
	if (strcmp(name, "ltree") == 0)
		return make_ltree(input, type);
	if (get_typlen(type) > 0)
		return receive_bytes(input, get_typlen(type), type);
	elog(ERROR, "no values of type %s can be made", name);
}

Datum
fuzz_value(FuzzInput *input, Oid type)
{
	check_stack_depth();
	type = getBaseType(type);
	switch (type)
	{
		case TEXTOID:
		case VARCHAROID:
		case BPCHAROID:
			return make_text(input);
		case NAMEOID:
			return make_name(input);
		case BYTEAOID:
			return make_bytea(input);
		case BITOID:
		case VARBITOID:
			return make_bits(input, type);
		case NUMERICOID:
			return make_numeric(input);
		case INETOID:
		case CIDROID:
			return make_inet(input, type);
		case OIDVECTOROID:
			return make_oidvector(input);
		case TSVECTOROID:
			return make_tsvector(input);
		case JSONBOID:
			return make_jsonb(input);
		case DATEOID:
			return make_in_range(input, 4, DATETIME_MIN_JULIAN - POSTGRES_EPOCH_JDATE,
								 DATE_END_JULIAN - POSTGRES_EPOCH_JDATE - 1, type);
		case TIMEOID:
		case TIMETZOID:
			return make_in_range(input, 8, 0, USECS_PER_DAY, type);
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return make_in_range(input, 8, MIN_TIMESTAMP, END_TIMESTAMP - 1, type);
		default:
			return make_other(input, type);
	}
}
