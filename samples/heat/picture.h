// Grey pictures as fields of numbers from 0 (black) to 1 (white).
#ifndef HEAT_PICTURE_H_
#define HEAT_PICTURE_H_

#include <string>
#include <vector>

struct Picture {
  int width = 0;
  int height = 0;
  std::vector<float> values;  // row by row
};

// Reads a PNG file of any kind, turned to grey. Throws std::runtime_error.
Picture ReadPicture(const std::string& path);

// Writes an 8-bit grey PNG file. Throws std::runtime_error.
void WritePicture(const std::string& path, const Picture& picture);

// The picture at another size, interpolated between its pixels.
Picture Resize(const Picture& picture, int width, int height);

#endif  // HEAT_PICTURE_H_
