# Compile settings shared by every target of the project.
add_library(ridgeline_settings INTERFACE)
target_include_directories(ridgeline_settings INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_features(ridgeline_settings INTERFACE cxx_std_20)
target_compile_options(ridgeline_settings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor -Woverloaded-virtual -Wno-missing-field-initializers
  $<$<BOOL:${RIDGELINE_WERROR}>:-Werror>)
# GCC 12 sees uninitialised members in aggregates that are thrown (GCC bug 105562 and kin), and an overlapping copy in
# assigning a short literal to a string (bug 105651).
target_compile_options(ridgeline_settings INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized -Wno-restrict>)
# Results must not depend on the optimiser: no fused multiply-add, no fast-math.
target_compile_options(ridgeline_settings INTERFACE -ffp-contract=off)
if(RIDGELINE_SANITIZE)
  target_compile_options(ridgeline_settings INTERFACE -fsanitize=${RIDGELINE_SANITIZE} -fno-omit-frame-pointer
                         -fno-sanitize-recover=all)
  target_link_options(ridgeline_settings INTERFACE -fsanitize=${RIDGELINE_SANITIZE})
endif()

# ridgeline_library(NAME SOURCES ... LIBS ...): a static library that sees the project root as include path.
function(ridgeline_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS;PRIVATE_LIBS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC ridgeline_settings ${ARG_LIBS} PRIVATE ${ARG_PRIVATE_LIBS})
endfunction()

# ridgeline_embed(TARGET FUNCTION FILES ...): compiles text files into TARGET. Declares, in namespace ridgeline,
#   std::span<const EmbeddedFile> FUNCTION();   // sim/base/embedded.hpp; name = file name without extension
function(ridgeline_embed target function)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${function}.cpp)
  list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ REGEX "^[^/]")
  string(REPLACE ";" "|" joined "${ARGN}")
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} -DFUNCTION=${function} "-DFILES=${joined}"
            -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${ARGN} ${PROJECT_SOURCE_DIR}/cmake/embed.cmake VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()
