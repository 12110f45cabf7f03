# cmake -DBUILD=... -DSOURCE=... -DWORK=... -P check.cmake: installs the build into a folder of its
# own, builds a project that finds it there, and runs its programs.
function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE failed OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(failed)
    message(FATAL_ERROR "${ARGV}: ${failed}\n${said}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
run(${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/build -DCMAKE_PREFIX_PATH=${WORK}/prefix
    "-DCMAKE_C_FLAGS=${FLAGS}" "-DCMAKE_CXX_FLAGS=${FLAGS}")
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/build/from_c)
run(${WORK}/build/from_cxx)
if(NOT EXISTS ${WORK}/prefix/libexec/hiera/hiera-planner)
  message(FATAL_ERROR "the planner was not installed where the library looks for it")
endif()
file(REMOVE_RECURSE ${WORK})
