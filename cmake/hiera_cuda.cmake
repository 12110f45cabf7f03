# HIERA_WITH_CUDA: whether the CUDA device is built: where the CUDA Toolkit (12.8 or later, for its
# headers and compiler) is found. Nothing of it is linked.
option(HIERA_CUDA "Build the CUDA device where the CUDA Toolkit is found" ON)
set(HIERA_WITH_CUDA FALSE)
if(HIERA_CUDA)
  find_package(CUDAToolkit 12.8 QUIET)
  if(CUDAToolkit_FOUND AND CUDAToolkit_NVCC_EXECUTABLE)
    set(HIERA_WITH_CUDA TRUE)
  endif()
endif()
message(STATUS "CUDA device: ${HIERA_WITH_CUDA} ${CUDAToolkit_VERSION}")

# hiera_fatbin(OUT SOURCE FLAGS...): compiles a .cu file for every supported processor, with PTX for
# later ones.
function(hiera_fatbin out source)
  cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE)
  set(targets)
  foreach(arch 80 90 100)
    list(APPEND targets -gencode=arch=compute_${arch},code=sm_${arch})
  endforeach()
  get_filename_component(folder ${out} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(
    OUTPUT ${out}
    COMMAND
      ${CUDAToolkit_NVCC_EXECUTABLE} -fatbin -std=c++20 -O3 ${ARGN} ${targets}
      -gencode=arch=compute_80,code=compute_80 -Xfatbin=-compress-all -I${PROJECT_SOURCE_DIR}
      -I${PROJECT_SOURCE_DIR}/include -MD -MF ${out}.d -MT ${out} -o ${out} ${source}
    DEPENDS ${source}
    DEPFILE ${out}.d
    COMMENT "Compiling ${source} for CUDA"
    VERBATIM)
endfunction()
