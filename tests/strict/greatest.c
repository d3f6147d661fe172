/* tests/greatest.h, every macro of it, as C99 and as C++11: compiled and run by
   tests/strict/run.sh */
#include "../greatest.h"

static const char *number_text(int n) { return n == 1 ? "one" : "other"; }

TEST passes(void) {
    const char a[] = {1, 2, 3}, b[] = {1, 2, 3};
    ASSERT(1);
    ASSERT_FALSE(0);
    ASSERT_EQ(2, 1 + 1);
    ASSERT_NEQ(2, 1);
    ASSERT_GT(2, 1);
    ASSERT_GTE(2, 2);
    ASSERT_LT(1, 2);
    ASSERT_LTE(2, 2);
    ASSERT_EQ_FMT(2, 1 + 1, "%d");
    ASSERT_IN_RANGE(1.0, 1.05f, 0.1f);
    ASSERT_STR_EQ("abc", "abc");
    ASSERT_STRN_EQ("abc", "abd", 2);
    ASSERT_MEM_EQ(a, b, sizeof a);
    ASSERT_ENUM_EQ(1, 1, number_text);
    PASSm("all macros");
}

TEST adds(int a, int b, int sum) {
    ASSERT_EQm("sum", sum, a + b);
    PASS();
}

TEST adds_nothing(const int *n) {
    CHECK_CALL(adds(*n, 0, *n));
    PASS();
}

TEST is_left_out(void) { SKIPm("to see a skip"); }

TEST fails_assert(void) {
    ASSERTm("message", 0);
    PASS();
}

TEST fails_eq(void) {
    ASSERT_EQ_FMT(1, 2, "%d");
    PASS();
}

TEST fails_range(void) {
    ASSERT_IN_RANGE(1, 2, 0.5);
    PASS();
}

TEST fails_str(void) {
    ASSERT_STR_EQ("a", "b");
    PASS();
}

TEST fails_mem(void) {
    ASSERT_MEM_EQ("a", "b", 1);
    PASS();
}

TEST fails_enum(void) {
    ASSERT_ENUM_EQ(1, 2, number_text);
    PASS();
}

TEST fails(void) { FAIL(); }

static void count(void *udata) { ++*(int *)udata; }

static int begun, ended;

SUITE(good) {
    const int three = 3;
    GREATEST_SET_SETUP_CB(count, &begun);
    GREATEST_SET_TEARDOWN_CB(count, &ended);
    RUN_TEST(passes);
    RUN_TESTp(adds, 1, 2, three);
    RUN_TEST1(adds_nothing, &three);
    RUN_TEST(is_left_out);
}

SUITE(bad) {
    RUN_TEST(fails);
    RUN_TEST(fails_assert);
    RUN_TEST(fails_eq);
    RUN_TEST(fails_range);
    RUN_TEST(fails_str);
    RUN_TEST(fails_mem);
    RUN_TEST(fails_enum);
}

SUITE_EXTERN(good);
GREATEST_MAIN_DEFS();

int main(int argc, char **argv) {
    GREATEST_MAIN_BEGIN();
    RUN_SUITE(good);
    RUN_SUITE(bad);
    if (begun != 4 || ended != 4) return 3; /* the callbacks are those of one suite */
    GREATEST_MAIN_END();
}
