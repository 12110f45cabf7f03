#include "picture.h"

#include <png.h>

#include <algorithm>
#include <stdexcept>

Picture ReadPicture(const std::string& path) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  if (!png_image_begin_read_from_file(&image, path.c_str())) {
    throw std::runtime_error(path + ": " + image.message);
  }
  image.format = PNG_FORMAT_GRAY;
  std::vector<png_byte> bytes(PNG_IMAGE_SIZE(image));
  if (!png_image_finish_read(&image, nullptr, bytes.data(), 0, nullptr)) {
    throw std::runtime_error(path + ": " + image.message);
  }
  Picture picture{static_cast<int>(image.width), static_cast<int>(image.height), {}};
  picture.values.reserve(bytes.size());
  for (const png_byte byte : bytes) picture.values.push_back(static_cast<float>(byte) / 255.0f);
  return picture;
}

void WritePicture(const std::string& path, const Picture& picture) {
  std::vector<png_byte> bytes;
  bytes.reserve(picture.values.size());
  for (const float value : picture.values) {
    bytes.push_back(static_cast<png_byte>(std::clamp(value, 0.0f, 1.0f) * 255.0f + 0.5f));
  }
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(picture.width);
  image.height = static_cast<png_uint_32>(picture.height);
  image.format = PNG_FORMAT_GRAY;
  if (!png_image_write_to_file(&image, path.c_str(), 0, bytes.data(), 0, nullptr)) {
    throw std::runtime_error(path + ": " + image.message);
  }
}

Picture Resize(const Picture& picture, int width, int height) {
  Picture result{width, height, std::vector<float>(static_cast<size_t>(width) * height)};
  for (int y = 0; y < height; ++y) {
    const float fy = std::clamp((y + 0.5f) * picture.height / height - 0.5f, 0.0f,
                                static_cast<float>(picture.height - 1));
    const int y0 = static_cast<int>(fy);
    const int y1 = std::min(y0 + 1, picture.height - 1);
    for (int x = 0; x < width; ++x) {
      const float fx = std::clamp((x + 0.5f) * picture.width / width - 0.5f, 0.0f,
                                  static_cast<float>(picture.width - 1));
      const int x0 = static_cast<int>(fx);
      const int x1 = std::min(x0 + 1, picture.width - 1);
      const auto at = [&](int row, int column) {
        return picture.values[static_cast<size_t>(row) * picture.width + column];
      };
      const float top = at(y0, x0) + (fx - x0) * (at(y0, x1) - at(y0, x0));
      const float bottom = at(y1, x0) + (fx - x0) * (at(y1, x1) - at(y1, x0));
      result.values[static_cast<size_t>(y) * width + x] = top + (fy - y0) * (bottom - top);
    }
  }
  return result;
}
