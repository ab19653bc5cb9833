// SPDX-License-Identifier: Apache-2.0
//
// What sanitized programs do by default, linked into each of them, so that they behave alike under
// ctest, in a debugger and as children of tests. Read by the sanitizers' runtimes before main().

#if defined(__SANITIZE_ADDRESS__)
extern "C" const char* __asan_default_options() {
  return "detect_stack_use_after_return=1:strict_string_checks=1:check_initialization_order=1";
}

extern "C" const char* __ubsan_default_options() { return "print_stacktrace=1"; }
#endif

#if defined(__SANITIZE_THREAD__)
extern "C" const char* __tsan_default_options() {
  return "halt_on_error=1:second_deadlock_stack=1";
}
#endif
