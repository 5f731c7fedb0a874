# Each of these bugs must be found by a checker within the seeds given: the simulator with the bug must report a failed seed. Those of a core
# are built, the named sources with the bug; those of the simulator's own parts (mutation.hpp) are all in one program. (An object file given
# to the linker takes the place of the one in the library.) At level node with one holder, unless ARGS say otherwise.
function(holdfast_sim_mutable program)
  add_library(hf_${program} OBJECT ${ARGN})
  target_compile_options(hf_${program} PRIVATE -Wno-unused-parameter -Wno-unused-variable)
  target_include_directories(hf_${program} PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(hf_${program} PRIVATE fmt::fmt)
  holdfast_precompiled(hf_${program} hf_sim_job)
  set_target_properties(hf_${program} PROPERTIES PCH_WARN_INVALID OFF)  # a mutation of a header is compiled from the text
  add_executable(${program} $<TARGET_OBJECTS:sim_command> $<TARGET_OBJECTS:hf_${program}>)
  target_link_libraries(${program} PRIVATE hf_sim hf_sim_job)
  holdfast_linked_for_tests(${program})
endfunction()

function(holdfast_sim_mutated out mutation)
  set(${out} sim_job_mutated PARENT_SCOPE)
  if(NOT ARGN)
    return()
  endif()
  list(GET ARGN 0 first)
  cmake_path(GET first STEM stem)
  string(TOLOWER sim_job_mutated_${stem}_${mutation} program)
  set(${out} ${program} PARENT_SCOPE)
  if(NOT TARGET ${program})  # it may stand here under another protocol
    holdfast_sim_mutable(${program} ${ARGN})
    target_compile_definitions(hf_${program} PRIVATE HOLDFAST_MUTATE_${mutation})
  endif()
endfunction()

function(holdfast_sim_mutations seeds)
  cmake_parse_arguments(arg "" "PREFIX" "SOURCES;MUTATIONS;ARGS" ${ARGN})
  foreach(mutation IN LISTS arg_MUTATIONS)
    string(TOLOWER ${arg_PREFIX}${mutation} name)
    holdfast_sim_mutated(program ${mutation} ${arg_SOURCES})
    add_test(NAME sim.job.mutation.${name} COMMAND ${program} job --seeds ${seeds} --failures 1
             --log-level node --event-loggers 0 --event-copies 1 ${arg_ARGS})
    set_tests_properties(sim.job.mutation.${name} PROPERTIES LABELS "sim;mutation" TIMEOUT 120 ENVIRONMENT HOLDFAST_MUTATION=${mutation}
                         PASS_REGULAR_EXPRESSION "again: holdfast-sim job .*1 of [0-9]+ seeds failed")
  endforeach()
endfunction()

set(core ${CMAKE_SOURCE_DIR}/src/core)
set(here ${CMAKE_CURRENT_SOURCE_DIR}/job)
file(GLOB own CONFIGURE_DEPENDS ${here}/*.cpp)
holdfast_sources_with(own_mutable HF_MUTATED ${own})
holdfast_sim_mutable(sim_job_mutated ${own_mutable})
target_compile_definitions(hf_sim_job_mutated PRIVATE HOLDFAST_MUTABLE)

# What is an event, when it is stable, what waits for it.
holdfast_sim_mutations(500 SOURCES ${core}/vprotocol/pessimist.cpp MUTATIONS DROP_MATCH DROP_DELIVERY DROP_FAILED_TEST DROP_TIME)
holdfast_sim_mutations(500 SOURCES ${core}/vprotocol/replay.cpp MUTATIONS REPLAY_OUT_OF_ORDER)
holdfast_sim_mutations(500 SOURCES ${here}/send.cpp ${here}/process.cpp MUTATIONS UNGATED_RENDEZVOUS)
holdfast_sim_mutations(500 MUTATIONS WRITTEN_IS_STABLE PAST_IS_STABLE NUMBER_AT_TRANSMISSION)
holdfast_sim_mutations(500 MUTATIONS LOG_UNGATED SENT_BEFORE_IS_SENT)
# Exactly once, in order, from whom.
holdfast_sim_mutations(500 SOURCES ${here}/receive.cpp MUTATIONS DROP_TOO_MUCH DROP_TOO_LITTLE)  # core/match/numbers.hpp
holdfast_sim_mutations(500 MUTATIONS ACCEPT_OLD_INCARNATION ONE_NUMBERING FORGET_LOST_PAYLOAD IGNORE_OPENING)
# Determinants on other nodes.
set(nodes ARGS --ranks 6 --nodes 5 --spares 2 --kinds)
holdfast_sim_mutations(500 SOURCES ${core}/event_logger/store.cpp MUTATIONS ACCEPT_FENCED)
holdfast_sim_mutations(5000 SOURCES ${core}/event_logger/store.cpp MUTATIONS FORGET_FENCE ${nodes} pause --workload traffic)
holdfast_sim_mutations(5000 SOURCES ${core}/event_logger/store.cpp MUTATIONS FORGET_PROMISED ${nodes} related-nodes --workload traffic)
holdfast_sim_mutations(500 SOURCES ${core}/event_logger/sender.cpp MUTATIONS STABLE_WHEN_SENT)
holdfast_sim_mutations(2000 MUTATIONS COUNT_OLD_VISITS ARGS --kinds node,holder-connection)
# In files; at several nodes; at both.
set(disk ARGS --log-level disk --workload traffic --kinds)
holdfast_sim_mutations(2000 SOURCES ${core}/event_logger/file_writer.cpp MUTATIONS STABLE_BEFORE_SYNC LOOK_BEFORE_SYNC FENCE_NOT_LOOKED_AT
                       ${disk} node,pause)
holdfast_sim_mutations(2000 SOURCES ${core}/event_logger/event_file.cpp MUTATIONS NO_CHECKSUM ${disk} disk-damage,node --steps 30)
holdfast_sim_mutations(5000 MUTATIONS READ_BEFORE_FENCE
                       ${disk} related-nodes,pause --ranks 6 --nodes 5 --spares 2 --faults 6)
# What is left ends within an event, or before a failed test.
set(pieces ARGS --log-level disk --ranks 6 --nodes 5 --spares 2 --faults 5 --kinds)
holdfast_sim_mutations(500 SOURCES ${core}/vprotocol/pessimist.cpp MUTATIONS RUN_LEFT_OPEN ${pieces} related-nodes,kill)
holdfast_sim_mutations(500 SOURCES ${core}/event_logger/found.cpp MUTATIONS ANY_FAILED_TEST ${pieces} pause,node)
holdfast_sim_mutations(500 SOURCES ${core}/event_logger/sender.cpp MUTATIONS FAILED_AHEAD ${pieces} related-nodes,kill)
holdfast_sim_mutations(1000 SOURCES ${core}/event_logger/sender.cpp MUTATIONS ASK_FROM_THE_START
                       ARGS --event-copies 2 --ranks 6 --nodes 6 --spares 2 --faults 4 --kinds related-nodes,kill)
# Hostings that are lost before they are settled.
set(copies ARGS --event-copies 2 --ranks 6 --nodes 6 --spares 2 --workload traffic --faults 4 --kinds)
holdfast_sim_mutations(2000 SOURCES ${core}/event_logger/copies.cpp MUTATIONS SETTLED_AT_ONCE ${copies} related-nodes,node)
holdfast_sim_mutations(5000 SOURCES ${core}/event_logger/found.cpp MUTATIONS UNSETTLED_PROMISES
                       ARGS --event-copies 3 --ranks 6 --nodes 6 --spares 2 --workload traffic --faults 4 --kinds related-nodes)
holdfast_sim_mutations(2000 SOURCES ${core}/event_logger/places.cpp MUTATIONS FORGET_SETTLED ${copies} related-nodes,node)
holdfast_sim_mutations(2000 SOURCES ${core}/event_logger/copies.cpp MUTATIONS ONE_COPY_SUFFICES
                       ARGS --event-copies 2 --nodes 4 --workload traffic --kinds node)
holdfast_sim_mutations(2000 SOURCES ${core}/event_logger/sender.cpp MUTATIONS STABLE_IN_ONE_PLACE
                       ARGS --log-level node+disk --workload traffic --kinds node)
holdfast_sim_mutations(2000 MUTATIONS FOUND_ONCE_IS_STABLE
                       ARGS --log-level node+disk --workload traffic --kinds node,related-nodes)
# Holders that are slow until others take their place: what they have is of an older generation, and what is under way comes late.
set(slow --ranks 6 --nodes 5 --spares 2 --faults 6 --kinds slow-holder,slow-holder,related-nodes,holder-connection)
holdfast_sim_mutations(5000 SOURCES ${core}/event_logger/store.cpp MUTATIONS ACCEPT_OUTDATED ARGS --event-copies 2 ${slow})
holdfast_sim_mutations(2000 SOURCES ${core}/event_logger/found.cpp MUTATIONS OLD_GENERATION_SUFFICES ARGS --workload traffic ${slow})
holdfast_sim_mutations(5000 SOURCES ${core}/event_logger/found.cpp MUTATIONS ONE_GENERATION_COUNTS
                       ARGS --event-copies 2 --ranks 7 --nodes 7 --spares 3 --event-loggers 2 --faults 6
                            --kinds slow-holder,slow-holder,node,related-nodes,pause)

# Probes and cancels.
holdfast_sim_mutations(1000 MUTATIONS PROBE_NOT_LOGGED ARGS --workload traffic)
holdfast_sim_mutations(1000 SOURCES ${core}/vprotocol/pessimist.cpp MUTATIONS DROP_CANCEL ARGS --workload traffic)

# Collectives and Improbe.
holdfast_sim_mutations(500 MUTATIONS NUMBERED_WHEN_RUN STEP_UNGATED STEPS_STAND_IN_REPLAY
                       ARGS --workload mixed)
holdfast_sim_mutations(1000 MUTATIONS COLLECTIVE_NOT_AWAITED ARGS --workload reductions)
holdfast_sim_mutations(1000 MUTATIONS IMPROBE_NOT_LOGGED ARGS --workload mixed)

# Sums of what was taken.
holdfast_sim_mutations(500 SOURCES ${core}/vprotocol/taken_sums.cpp MUTATIONS NOT_COMPARED ARGS --kinds diverge)
holdfast_sim_mutations(2000 MUTATIONS SUMS_NOT_REBUILT ARGS --kinds diverge,kill --faults 6)

# Optimistic logging. Mutations that stand above under another protocol have another name here.
function(holdfast_sim_optimist seeds)
  cmake_parse_arguments(arg "" "" "SOURCES;MUTATIONS;ARGS" ${ARGN})
  holdfast_sim_mutations(${seeds} SOURCES ${arg_SOURCES} MUTATIONS ${arg_MUTATIONS} PREFIX optimist_ ARGS --protocol optimist ${arg_ARGS})
endfunction()
set(traffic ARGS --workload traffic --faults 6 --kinds node,rollback)
set(nodes ARGS --ranks 6 --nodes 5 --spares 2 --workload traffic --kinds)

# Event loggers that do not tell each other what is stable.
holdfast_sim_optimist(100 SOURCES ${core}/event_logger/sharding.cpp MUTATIONS LOGGERS_APART
                      ARGS --ranks 6 --nodes 4 --event-loggers 3 --workload traffic --kinds node)
# What a state depends on, what is said of it, what is stable.
holdfast_sim_optimist(2000 SOURCES ${core}/vprotocol/stable_vector.cpp MUTATIONS STABLE_ANYWHERE ${traffic})
holdfast_sim_optimist(20000 SOURCES ${core}/vprotocol/stable_vector.cpp MUTATIONS STABLE_OF_ANOTHER_TERM ${traffic})
holdfast_sim_optimist(2000 SOURCES ${core}/vprotocol/dependencies.cpp MUTATIONS FORGET_CHANGE ${traffic})
holdfast_sim_optimist(20000 SOURCES ${core}/vprotocol/optimist.cpp MUTATIONS NO_MERGE_IN_REPLAY ${traffic})
holdfast_sim_optimist(2000 SOURCES ${core}/vprotocol/pessimist.cpp MUTATIONS DROP_MATCH DROP_DELIVERY DROP_FAILED_TEST RUN_LEFT_OPEN
                      ${traffic})
holdfast_sim_optimist(10000 MUTATIONS HOLDER_TELLS ${nodes} related-nodes --steps 3 --faults 1)
holdfast_sim_optimist(1000 SOURCES ${core}/event_logger/file_feed.cpp MUTATIONS PART_OF_A_COPY_IS_STABLE
                      ARGS --log-level node+disk --ranks 6 --nodes 5 --spares 2 --faults 5 --kinds related-nodes,kill,rollback --first-seed 500)
# What leaves the job; what does not wait.
holdfast_sim_optimist(200 MUTATIONS OUTPUT_AT_ONCE MATCHED_AT_ONCE SEND_WAITS)
# Orphans.
holdfast_sim_optimist(2000 SOURCES ${core}/vprotocol/cuts.cpp MUTATIONS CUT_LATE ${traffic})
holdfast_sim_optimist(2000 MUTATIONS RECORD_LATE ${traffic})
holdfast_sim_optimist(20000 SOURCES ${here}/optimism.cpp MUTATIONS COUNT_STAYS ${traffic})  # core/match/numbers.hpp
holdfast_sim_optimist(20000 MUTATIONS KEEP_ORPHANS AHEAD_OF_THE_BOARD ${traffic})
holdfast_sim_optimist(20000 MUTATIONS TAKE_FROM_ORPHANS ACCEPT_OLD_INCARNATION ${traffic})
holdfast_sim_optimist(20000 MUTATIONS BEGIN_UNTOLD ${traffic})
holdfast_sim_optimist(20 MUTATIONS STOPS_UNWRITTEN ARGS --ranks 7 --nodes 7 --spares 3 --faults 6
                      --kinds kill,kill,node,related-nodes,pause --first-seed 900435)
holdfast_sim_optimist(20000 SOURCES ${core}/event_logger/store.cpp MUTATIONS HOLDER_NOT_CUT ${traffic})
holdfast_sim_optimist(2000 SOURCES ${core}/event_logger/store.cpp MUTATIONS ACCEPT_FENCED ${nodes} pause)
holdfast_sim_optimist(20000 MUTATIONS KEEP_NUMBERED_ORPHANS ARGS --workload mixed --faults 6 --kinds node,rollback)
holdfast_sim_optimist(20000 MUTATIONS TAKEN_BACK_STAYS ${traffic})
# A message of before its sender was rolled back is found to be an orphan when the next incarnation has sent it again already.
set(many_nodes ARGS --log-level disk --ranks 40 --nodes 20 --spares 3 --steps 6 --faults 12 --first-seed)
holdfast_sim_optimist(20 MUTATIONS REFUSE_THE_NEWEST ${many_nodes} 394)
holdfast_sim_optimist(20 MUTATIONS NOT_TAKEN_AGAIN ${many_nodes} 1192
                      --workload traffic --kinds node,rollback,kill)
