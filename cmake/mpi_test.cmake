# holdfast_mpi_test(name ranks... [NODES nodes...] [PROTOCOLS protocols...] [ARGS args...]): builds name.c as
# bin/tests/mpi_<name> against our MPI library and runs it under `holdfast run` once for each number of ranks, number of
# nodes (default 1 and 3, as far as there are ranks for them) and protocol (default none and pessimist).
function(holdfast_mpi_test name)
  cmake_parse_arguments(arg "" "" "NODES;PROTOCOLS;ARGS" ${ARGN})
  if(NOT arg_NODES)
    set(arg_NODES 1 3)
  endif()
  if(NOT arg_PROTOCOLS)
    set(arg_PROTOCOLS none pessimist)
  endif()
  holdfast_mpi_program(mpi_${name} ${name}.c)
  foreach(ranks IN LISTS arg_UNPARSED_ARGUMENTS)
    foreach(nodes IN LISTS arg_NODES)
      if(nodes GREATER ranks)
        continue()
      endif()
      foreach(protocol IN LISTS arg_PROTOCOLS)
        holdfast_mpi_job(${name} ${protocol} ${ranks} ${nodes} ${protocol} ARGS ${arg_ARGS})
      endforeach()
    endforeach()
  endforeach()
endfunction()

# holdfast_mpi_job(name variant ranks nodes protocol [OPTIONS options of holdfast run...] [ARGS args...]): one such test.
function(holdfast_mpi_job name variant ranks nodes protocol)
  cmake_parse_arguments(arg "" "" "OPTIONS;ARGS" ${ARGN})
  set(test mpi.${name}.n${ranks}.nodes${nodes}.${variant})
  if(NOT "--eager-limit" IN_LIST arg_OPTIONS)
    list(APPEND arg_OPTIONS --eager-limit 64K)  # low, so that the tests' larger messages are announced
  endif()
  add_test(NAME ${test} COMMAND ${CMAKE_BINARY_DIR}/bin/holdfast run -n ${ranks} --nodes ${nodes} --protocol ${protocol}
           ${arg_OPTIONS} $<TARGET_FILE:mpi_${name}> ${arg_ARGS})
  set_tests_properties(${test} PROPERTIES LABELS mpi TIMEOUT 120)
endfunction()

# A C program linked with our MPI library, in bin/tests.
function(holdfast_mpi_program target)
  add_executable(${target} ${ARGN})
  target_link_libraries(${target} PRIVATE mpi_abi)
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/include)
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin/tests C_STANDARD 11)
endfunction()
